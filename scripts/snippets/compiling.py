"""Wrong use of torch.compile."""

import preambles

PREAMBLE = preambles.COMPILER

SNIPPETS = (
    "torch.compile(net, backend='a')(x)", "torch.compile(net, mode='fast')",
    "torch.compile(net, mode='default', options={'a': 1})", "torch.compile(net, options={'nope': 1})",
    "torch.compile(3)", "torch.compile(net, dynamic='a')(x)", "eager(lambda a: a if a.sum() > 0 else -a)(x)",
    "eager(lambda a: a.sum().item() + 1 if a.sum().item() > 0 else 0)(x)", "eager(lambda a: print(a))(x)",
    "eager(lambda a: a @ a)(x)", "eager(lambda a: a.view(5, 5))(x)", "eager(lambda a: net(a))(y)",
    "eager(lambda a: a.nope)(x)", "eager(lambda a: undefined_name)(x)", "eager(lambda a: 1 / 0)(x)",
    "eager(lambda a: open('a'))(x)", "eager(lambda a: __import__('time').time())(x)",
    "eager(lambda a: torch._dynamo.graph_break())(x)", "eager(lambda a: a.numpy().tolist())(x)",
    "eager(lambda a: a.tolist())(x)", "eager(lambda a: [1, 2][9])(x)", "eager(lambda a: {'a': 1}['b'])(x)",
    "eager(lambda a: a.backward())(x)", "eager(lambda a: input())(x)", "eager(lambda a: eval('a'))(x)",
    "eager(lambda a: exec('a'))(x)", "eager(lambda a: torch.load('a'))(x)", "eager(lambda a: a.requires_grad_())(x)",
    "eager(lambda a: torch.manual_seed(0))(x)",
    "def f(a):\n  raise ValueError('bad')\neager(f)(x)",
    "def f(a):\n  with open('a') as g: pass\n  return a\neager(f)(x)",
    "def f(a):\n  import json\n  return json.dumps({'a': 1}), a\neager(f)(x)",
    'def f(a):\n  yield a\nlist(eager(f)(x))', 'def f(a):\n  global G\n  G = a\n  del undefined\neager(f)(x)',
    'def f(a):\n  class A: pass\n  return A(), a\neager(f)(x)',
    "def f(a):\n  torch.distributed.init_process_group('gloo')\neager(f)(x)", 'def f(a):\n  return f(a)\neager(f)(x)',
    "torch._dynamo.config.nope = 3", "torch._dynamo.config.nope", "torch._dynamo.explain(3)(x)",
    "torch._dynamo.mark_dynamic(x, 0); eager(lambda a: a.view(4, 6))(x)",
    "torch._dynamo.mark_dynamic(x, 0, min=9); eager(lambda a: a + 1)(x)", "torch._dynamo.optimize('a')(net)(x)",
    "torch._dynamo.register_backend(3)", "torch._dynamo.lookup_backend('a')", "torch._dynamo.disable(3)",
    "torch.compiler.allow_in_graph(3)", "torch.compiler.nope()", "torch._inductor.config.nope = 1",
    "torch._inductor.compile(net, [x])", "with torch._dynamo.config.patch(nope=1): pass",
    'with torch._dynamo.config.patch(error_on_recompile=True):\n  g = eager(lambda a: a + 1, dynamic=False); g(x); g(y)',
    "with torch._dynamo.config.patch(recompile_limit=1, fail_on_recompile_limit_hit=True):\n  g = torch.compile(lambda a: a + 1, backend='eager', dynamic=False); g(x); g(y); g(x[0])",
    "torch.compiler.set_stance('fail_on_recompile'); torch.compile(lambda a: a + 2, backend='eager')(x)",
    "torch.compiler.set_stance('default'); torch.compile(net)(y)",
    "torch.cond(x.sum() > 0, lambda a: a, lambda a: a[:2], (x,))", "torch.cond(x, lambda a: a, lambda a: a, (x,))",
    "torch.cond(x.sum() > 0, lambda a: a, 3, (x,))", "torch.cond(x.sum() > 0, lambda a: a, lambda a: a, x)",
    "torch.compile(net, backend=lambda g, i: 3)(x)", "torch.compile(net, backend=lambda g, i: 1 / 0)(x)",
    "def f():\n  fx.wrap('len')\nf()",
)  # fmt: skip
