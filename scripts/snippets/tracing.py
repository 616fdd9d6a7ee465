"""Wrong use of FX, make_fx and fake tensors."""

import preambles

PREAMBLE = preambles.COMPILER

SNIPPETS = (
    "fx.symbolic_trace(Branching())", "fx.symbolic_trace(3)", "fx.symbolic_trace(lambda a: [i for i in a])",
    "fx.symbolic_trace(lambda a: len(a))",
    "fx.symbolic_trace(lambda a: torch.ones(a.shape[0]) if a.shape[0] > 3 else a)",
    "fx.symbolic_trace(lambda a: range(a))", "fx.symbolic_trace(lambda a: torch.zeros(a))(x)",
    "fx.symbolic_trace(lambda *a: a[0])(x).nope", "fx.symbolic_trace(lambda a: a['a'])(x)",
    "fx.symbolic_trace(lambda a, b: a + b)(x, y)", "fx.symbolic_trace(lambda **k: {**k['a']})",
    "fx.symbolic_trace(net)(y)", "fx.symbolic_trace(lambda a: not a)",
    "fx.symbolic_trace(lambda a: a, concrete_args={'a': 3})(4)", "fx.GraphModule(3, fx.Graph())",
    "fx.GraphModule(net, fx.Graph())(x).nope", "g = fx.Graph(); g.call_module('nope'); fx.GraphModule(net, g)(x)",
    "g = fx.Graph(); g.get_attr('nope'); fx.GraphModule(net, g).recompile()(x)",
    "g = fx.Graph(); a = g.placeholder('a'); g.output(a); g.erase_node(a)",
    "g = fx.Graph(); g.create_node('nope', 'a')", "g = fx.Graph(); g.call_function('a')",
    "g = fx.Graph(); g.call_method(3)",
    "g = fx.Graph(); h = fx.Graph(); a = g.placeholder('a'); h.call_function(torch.relu, (a,)); h.lint()",
    "fx.Interpreter(fx.symbolic_trace(net)).run()", "fx.Interpreter(fx.symbolic_trace(net)).run(y)", "fx.wrap(3)",
    "fx.replace_pattern(fx.symbolic_trace(net), lambda a: a, lambda a, b: a)",
    'from torch.fx.experimental.proxy_tensor import make_fx\nmake_fx(lambda a: a.item())(x[0, 0]).nope',
    'from torch.fx.experimental.proxy_tensor import make_fx\nmake_fx(lambda a: a if a.sum() > 0 else -a)(x)',
    "from torch.fx.experimental.proxy_tensor import make_fx\nmake_fx(lambda a: a, tracing_mode='a')(x)",
    'from torch._subclasses import FakeTensorMode\nwith FakeTensorMode(): torch.ones(2) @ x[0]',
    'from torch._subclasses import FakeTensorMode\nwith FakeTensorMode(): torch.ones(2).sum().item() > 3',
    'from torch._subclasses import FakeTensorMode\nwith FakeTensorMode(): torch.ones(2).numpy()',
    'from torch._subclasses import FakeTensorMode\nwith FakeTensorMode(): torch.nonzero(torch.ones(2))',
    'from torch._subclasses import FakeTensorMode\nwith FakeTensorMode(): a = torch.ones(2)\na.tolist()',
)  # fmt: skip
