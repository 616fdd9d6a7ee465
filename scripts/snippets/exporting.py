"""Wrong use of torch.export and torch._check."""

import preambles

PREAMBLE = preambles.COMPILER

SNIPPETS = (
    "export(net, x)", "export(net, (y,))", "export(3, (x,))", "export(lambda a: a, (x,))",
    "export(Branching(), (x,))", "export(net, (x,), dynamic_shapes={'a': {0: Dim('b')}})",
    "export(net, (x,), dynamic_shapes={'input': {1: Dim('b')}})", "export(net, (x,), dynamic_shapes=({0: 'b'}, {}))",
    "export(net, (x,), dynamic_shapes={'input': {0: 'b'}})",
    "export(net, (x[:1],), dynamic_shapes={'input': {0: Dim('b')}})",
    "export(net, (x,), dynamic_shapes={'input': {0: Dim('b', min=9)}})", "export(torch.jit.script(nn.ReLU()), (x,))",
    "Dim('1a')", "Dim('b', min=4, max=2)", "Dim('b') + Dim('c')", "export(net, (x,)).module()(y)",
    "export(net, (x,)).module()(x[:2])", "export(net, (x,))(x)", "export(net, (x,)).module()(x, x)",
    "export(net, (x,)).module()()", "export(net, (x,)).module().eval()", "export(net, (x,)).module().train()",
    "export(net, (x,)).module()(x.double())", "torch.export.save(net, io.BytesIO())",
    "torch.export.load('nowhere.pt2')", "export(net, ('a',))", "export(net, (None,))", "export(net, ({'a': x},))",
    "export(net, (object(),))", 'class M(nn.Module):\n  def forward(self, x): return x.numpy()\nexport(M(), (x,))',
    'class M(nn.Module):\n  def forward(self, x): return object()\nexport(M(), (x,))',
    'class M(nn.Module):\n  def forward(self, x, n): return x + n\nexport(M(), (x, 3)).module()(x, 4)',
    "class M(nn.Module):\n  def forward(self, *a, **k): return a[0]\nexport(M(), (x,), dynamic_shapes={'x': {0: Dim('b')}})",
    "torch.export.register_dataclass(int)", "torch.export.export_for_inference(net, (x,)).nope",
    "torch._check(x.sum() > 1e9)", "torch._check(3)", "torch._check(False, 'a')",
    "torch._check_is_size(-3)", "torch._assert_async(torch.tensor(0))",
)  # fmt: skip
