"""Wrong use of torch.library and torch.ops."""

import preambles

PREAMBLE = preambles.COMPILER

SNIPPETS = (
    "torch.library.custom_op('a', lambda: 1, mutates_args=())",
    "torch.library.custom_op('mine::a', mutates_args=())(lambda x: x)",
    "@torch.library.custom_op('mine::c', mutates_args=())\ndef f(x: torch.Tensor) -> torch.Tensor: return x\nf(x)",
    "@torch.library.custom_op('mine::d', mutates_args=())\ndef f(x) -> torch.Tensor: return x",
    "@torch.library.custom_op('mine::e', mutates_args=())\ndef f(x: torch.Tensor): return x",
    "@torch.library.custom_op('mine::g', mutates_args=('y',))\ndef f(x: torch.Tensor) -> torch.Tensor: return x",
    "@torch.library.custom_op('mine::h', mutates_args=())\ndef f(x: torch.Tensor) -> torch.Tensor: return x * 2\nf(x.requires_grad_()).sum().backward()",
    "@torch.library.custom_op('mine::i', mutates_args=())\ndef f(x: torch.Tensor) -> torch.Tensor: return x * 2\nf('a')",
    "@torch.library.custom_op('mine::j', mutates_args=())\ndef f(x: torch.Tensor) -> torch.Tensor: return x * 2\nf(x.to('meta'))",
    "@torch.library.custom_op('mine::k', mutates_args=())\ndef f(x: torch.Tensor) -> torch.Tensor: return 3\nf(x)",
    "@torch.library.custom_op('mine::l', mutates_args=())\ndef f(x: torch.Tensor) -> torch.Tensor: return x * 2\neager(f)(x)",
    "@torch.library.custom_op('mine::l', mutates_args=())\ndef f(x: torch.Tensor, y: set) -> torch.Tensor: return x * 2",
    "torch.library.Library('aten', 'DEF')", "torch.library.Library('a', 'b')",
    "torch.library.Library('mine2', 'DEF').define('a')",
    "l = torch.library.Library('mine3', 'DEF'); l.define('a(Tensor x) -> Tensor'); l.define('a(Tensor x) -> Tensor')",
    "l = torch.library.Library('mine5', 'DEF'); l.define('a(Tensor x) -> Tensor'); torch.ops.mine5.a(x)",
    "l = torch.library.Library('mine6', 'DEF'); l.define('a(Tensor x) -> Tensor'); l.impl('a', lambda x: x, 'nope')",
    "torch.ops.nope.a(x)", "torch.ops.aten.nope(x)", "torch.ops.aten.add.Nope(x)", "torch.ops.aten.add(x)",
    "torch.ops.aten.relu(3)", "torch.ops.load_library('nowhere.so')", "torch.classes.nope.A()",
    "torch.classes.load_library('nowhere.so')", "torch.library.register_fake('nope::a', lambda x: x)",
    "torch.library.register_autograd('nope::a', lambda ctx, g: g)", "torch.library.opcheck(3, (x,))",
    "torch.library.define('a', '(Tensor x) -> Tensor')", "torch.library.define('mine7::a', 'Tensor x -> Tensor')",
    "torch.library.triton_op('a', lambda: 1, mutates_args=())",
)  # fmt: skip
