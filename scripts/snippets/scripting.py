"""Wrong use of TorchScript and of the ONNX exporter."""

import preambles

PREAMBLE = (
    preambles.COMPILER
    + """
def script(source, name="f"):
    import linecache, os, tempfile
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
        file.write("import torch\nfrom typing import *\nfrom torch import nn\n" + source)
    scope = {"__name__": "scripted"}
    exec(compile(open(file.name).read(), file.name, "exec"), scope)
    return torch.jit.script(scope[name])
"""
)

SNIPPETS = (
    "torch.jit.script(lambda a: a.foo)", "torch.jit.script(Branching)",
    "torch.jit.script(nn.Module())(x)", "torch.jit.script(print)", "script('def f(x): return x.nope')",
    "script('def f(x): return y')", 'script(\'def f(x): return x + "a"\')',
    "script('def f(x: str) -> int: return x')", "script('def f(x):\\n  if x.sum() > 0:\\n    y = 1\\n  return y')",
    'script(\'def f(x):\\n  if x.sum() > 0:\\n    return 1\\n  return "a"\')',
    "script('def f(x): return [i for i in range(x)]')", "script('def f(*x): return x')",
    "script('def f(**x): return x')",
    "script('def f(x, y=x): return x') if False else script('def f(x, *, y): return x')(x)",
    'script(\'def f(x): return f"{x:.2f}"\')', 'script(\'def f(x):\\n  with open("a") as g: pass\')',
    "script('def f(x):\\n  import os\\n  return x')", "script('def f(x):\\n  class A: pass\\n  return x')",
    "script('def f(x):\\n  def g(y): return y\\n  return g(x)')", "script('def f(x): return lambda y: y')",
    "script('def f(x):\\n  try:\\n    return x\\n  except: return x')", "script('def f(x):\\n  yield x')",
    "script('async def f(x): return x')", "script('def f(x):\\n  global a\\n  a = 1')",
    "script('def f(x):\\n  del x\\n  return x')", "script('def f(x): return {1, 2}')",
    "script('def f(x: List): return x')", "script('def f(x: list): return x[0]')",
    "script('def f(x: Dict): return x')", "script('def f(x: Optional[int]): return x + 1')(3)",
    "script('def f(x: Union[int, str]): return x + 1')", 'script(\'def f(x: "int"): return x\')(x)',
    "script('def f(x):\\n  for i, j in x: pass')", "script('def f(x): return x[0:1:-1]')(x)",
    "script('def f(x): return x if x else 1')(x)", "script('def f(x): return torch.relu(x, 3, 4)')",
    "script('def f(x): return torch.nope(x)')", "script('def f(x): return torch.cat(x)')",
    'script(\'def f(x): return torch.zeros("a")\')', "script('def f(x): return nn.Linear(2, 3)(x)')",
    'script(\'def f(x): return x.view(x.shape[0], "a")\')', "script('def f(x): return isinstance(x, foo)')",
    'script(\'def f(x): return int("a")\')(x)', 'script(\'def f(x):\\n  raise ValueError("bad")\')(x)',
    'script(\'def f(x):\\n  assert False, "bad"\\n  return x\')(x)', "script('def f(x): return x')('a')",
    "script('def f(x): return x')()", "script('def f(x): return x')(x, x)", "script('def f(x): return x')(y=x)",
    "script('def f(x: int): return x')(x)", "script('def f(x: int): return x')(2.5)",
    "script('def f(x: List[int]): return x')([1, 'a'])", "script('def f(x: Tuple[int, int]): return x')((1, 2, 3))",
    'script(\'def f(x: Dict[str, int]): return x["a"]\')({})', "script('def f(x: List[int]): return x[9]')([1])",
    "script('def f(x): return x @ x')(x)", "script('def f(x): return x.view(5, 5)')(x)",
    "script('def f(x): return x[9]')(x)", "script('def f(x): return x + torch.ones(5, 7)')(x)",
    "script('def f(x: Optional[int]):\\n  assert x is not None\\n  return x + 1')(None)",
    "script('class M(nn.Module):\\n  def __init__(self):\\n    super().__init__()\\n    self.d = {}\\n  def forward(self, x): return self.d[x]\\nf = M()')",
    "script('class M(nn.Module):\\n  def __init__(self):\\n    super().__init__()\\n    self.d = lambda x: x\\n  def forward(self, x): return self.d(x)\\nf = M()')",
    "script('class M(nn.Module):\\n  def forward(self, x): return self.nope(x)\\nf = M()')",
    "script('class M(nn.Module):\\n  def forward(self, x):\\n    self.a = x\\n    return x\\nf = M()')",
    "script('class M(nn.Module):\\n  def __init__(self):\\n    super().__init__()\\n    self.a = nn.ModuleList([nn.Linear(2, 2)])\\n  def forward(self, x, i: int): return self.a[i](x)\\nf = M()')",
    "script('class M(nn.Module):\\n  def __init__(self):\\n    super().__init__()\\n    self.a = None\\n  def forward(self, x): return self.a(x)\\nf = M()')",
    'script(\'class M(nn.Module):\\n  def __init__(self):\\n    super().__init__()\\n    self.a = [1, "a"]\\n  def forward(self, x): return self.a\\nf = M()\')',
    "script('class M:\\n  def __init__(self, a): self.a = a\\n  def g(self): return self.b\\ndef f(x): return M(x).g()')",
    "script('class M:\\n  pass\\ndef f(x): return M(x)')", "torch.jit.trace(net)", "torch.jit.trace(net, y)",
    "torch.jit.trace(3, x)", "torch.jit.trace(lambda a: 'a', x)", "torch.jit.trace(lambda a: {'a': a}, x)",
    "torch.jit.trace(lambda a: {'a': 1}, x, strict=False)", "torch.jit.trace(lambda a: None, x)",
    "torch.jit.trace(lambda a: 3, x)", "torch.jit.trace(lambda a: a, 'a')", "torch.jit.trace(lambda a: a, (3,))",
    "torch.jit.trace(lambda a: a * net.weight[0, 0], x)", "torch.jit.trace(net, (x, x))",
    "torch.jit.trace(net, example_kwarg_inputs={'a': x})", "torch.jit.trace(net, x)(y)",
    "torch.jit.trace(net, x)(x, x)", "torch.jit.trace(net, x).nope", "torch.jit.trace_module(net, {'nope': x})",
    "torch.jit.trace_module(net, 3)", "torch.jit.freeze(net)",
    "torch.jit.freeze(torch.jit.script(nn.ReLU().train()))", "torch.jit.optimize_for_inference(net)",
    "torch.jit.fork(3)", "torch.jit.wait(3)", "torch.jit.annotate(3)", "torch.jit.script(nn.ReLU()).forward(3)",
    "torch.jit.script(nn.ReLU()).nope", "m = torch.jit.script(nn.ReLU()); m.nope = nn.ReLU()",
    "m = torch.jit.script(net); m.weight = 3", "m = torch.jit.script(net); del m.weight", "torch.jit.interface(3)",
    "torch.jit.nope", "torch.jit.ScriptModule()(x)", "torch.jit.freeze(torch.jit.script(nn.ReLU().eval()), ['nope'])",
    "torch.onnx.export(net, x, 'a.onnx', dynamo=False)", "torch.onnx.export(net, (y,), io.BytesIO(), dynamo=False)",
    "torch.onnx.export(net, (x,), io.BytesIO(), opset_version=1, dynamo=False)", "torch.onnx.dynamo_export(net, x)",
    "torch.onnx.load('a')", "torch.onnx.symbolic_helper.nope", "torch.onnx.register_custom_op_symbolic('a', 3, 9)",
)  # fmt: skip
