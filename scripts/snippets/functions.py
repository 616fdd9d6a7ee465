"""Wrong custom functions, gradient checks, functional derivatives and forward mode."""

PREAMBLE = """
from torch import func
from torch.autograd import Function, forward_ad as fwAD, functional as AF, gradcheck, gradgradcheck
w = torch.randn(6, 3, requires_grad=True)
d = torch.randn(3, dtype=torch.double, requires_grad=True)
class Twice(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2
def gives(value):
    class Gives(Function):
        forward = staticmethod(lambda ctx, x: x * 2)
        backward = staticmethod(lambda ctx, g: value(g) if callable(value) else value)
    return Gives
def saves(action):
    class Saves(Function):
        @staticmethod
        def forward(ctx, x):
            action(ctx, x)
            return x * 2
        backward = staticmethod(lambda ctx, g: ctx.saved_tensors[0] * g)
    return Saves
"""

SNIPPETS = (
    "Twice()(w)", "Twice().forward(w)", "Twice.apply()", "Twice.apply(w, w)", "Twice.apply(w).backward()",
    "Twice.apply(w).numpy()", "gives(3).apply(w).sum().backward()", "gives((1, 2)).apply(w).sum().backward()",
    "gives(()).apply(w).sum().backward()", "gives(lambda g: (g, g)).apply(w).sum().backward()",
    "gives(lambda g: g[:2]).apply(w).sum().backward()", "gives(lambda g: g.double() + 1j).apply(w).sum().backward()",
    "gives(lambda g: g.to('meta')).apply(w).sum().backward()", "gives(lambda g: [g]).apply(w).sum().backward()",
    "gives(lambda g: 'a').apply(w).sum().backward()", "gives(lambda g: g.sum(0)).apply(w).sum().backward()",
    "saves(lambda ctx, x: ctx.save_for_backward(3)).apply(w)",
    "saves(lambda ctx, x: ctx.save_for_backward([x])).apply(w)", "saves(lambda ctx, x: ctx.mark_dirty(3)).apply(w)",
    "saves(lambda ctx, x: ctx.mark_dirty(x)).apply(w)", "saves(lambda ctx, x: ctx.mark_dirty(x)).apply(w * 1)",
    "saves(lambda ctx, x: ctx.mark_non_differentiable(3)).apply(w)",
    "saves(lambda ctx, x: ctx.mark_non_differentiable(x, 'a')).apply(w)",
    "saves(lambda ctx, x: setattr(ctx, 'saved_tensors', [x])).apply(w)",
    "z = saves(lambda ctx, x: ctx.save_for_backward(x)).apply(w); z.sum().backward(); z.sum().backward()",
    't = w.detach().clone().requires_grad_(); z = saves(lambda ctx, x: ctx.save_for_backward(x)).apply(t)\nwith torch.no_grad(): t += 1\nz.sum().backward()',
    'class A(Function): pass\nA.apply(w)',
    'class A(Function):\n  forward = staticmethod(lambda ctx, x: x * 2)\nA.apply(w).sum().backward()',
    'class A(Function):\n  def forward(self, x): return x * 2\nA()(w)',
    'class A(Function):\n  forward = staticmethod(lambda ctx, x: x)\n  backward = staticmethod(lambda ctx: 1)\nA.apply(w).sum().backward()',
    'class A(Function):\n  forward = staticmethod(lambda x: x * 2)\n  setup_context = staticmethod(lambda ctx, i, o: None)\n  backward = staticmethod(lambda ctx, g: g)\nfunc.vmap(A.apply)(w)',
    'class A(Twice):\n  generate_vmap_rule = True\n  forward = staticmethod(lambda x: x)\n  setup_context = staticmethod(lambda ctx, i, o: None)\n  vmap = staticmethod(lambda info, in_dims, x: (x, 0))\nfunc.vmap(A.apply)(w)',
    'class A(Twice):\n  backward = staticmethod(torch.autograd.function.once_differentiable(lambda ctx, g: g * ctx.saved_tensors[0]))\ng, = torch.autograd.grad(A.apply(w).sum(), w, create_graph=True)\ng.sum().backward()',
    "with fwAD.dual_level(): Twice.apply(fwAD.make_dual(x, x))", '@torch.amp.custom_fwd\ndef f(x): pass\nf(x)',
    "gradcheck(lambda t: t, w)", "gradcheck(lambda t: t.pow(2).detach(), d)",
    "gradcheck(lambda t: t.sigmoid() * 1, w)", "gradcheck(Twice.apply, x)",
    "gradcheck(gives(lambda g: g * 3).apply, d)", "gradcheck(lambda t: t.expand(4, 3)[0].nope, d)",
    "gradcheck(lambda t: t * 2, d.float())", "gradcheck(lambda t: t, [])", "gradcheck(lambda t: 3, d)",
    "gradcheck(lambda t: t * torch.rand(()).double(), d)", "gradgradcheck(gives(lambda g: g.detach() * 2).apply, d)",
    "gradcheck(gives(lambda g: g * 3).apply, d, fast_mode=True)",
    "gradcheck(lambda t: t.sum(), d, check_forward_ad=True, eps='a')",
    "gradcheck(gives(lambda g: g.to_sparse()).apply, d)", "gradcheck(lambda t: t.expand(2, 3), d.expand(2, 3))",
    "gradcheck(lambda t: t * 2, d, check_forward_ad=False, check_backward_ad=False)",
    "gradcheck(lambda t: t * 2, d, check_batched_forward_grad=True)", "gradcheck(lambda t: t.to_sparse(), d)",
    "AF.jacobian(lambda t: 3, x)", "AF.jacobian(lambda t: t, 3)", "AF.jacobian(lambda t: t.detach(), x, strict=True)",
    "AF.jacobian(lambda t: torch.ones(3), x, strict=True)", "AF.jacobian(lambda t: t, x, strategy='a')",
    "AF.jacobian(lambda t: t, x, strategy='forward-mode')",
    "AF.jacobian(lambda t: t, x, create_graph=True, strategy='forward-mode', vectorize=True)",
    "AF.jacobian(lambda t: t, x, strict=True, vectorize=True)", "AF.hessian(lambda t: t, x)",
    "AF.hessian(lambda t: t.sum(), x, strict=True)", "AF.hessian(lambda t: 3, x)",
    "AF.hessian(lambda t: t.sum(), x, outer_jacobian_strategy='a')", "AF.hvp(lambda t: t, x, x)",
    "AF.hvp(lambda t: t.pow(2).sum(), x, y)", "AF.hvp(lambda t: t.pow(2).sum(), x)", "AF.vjp(lambda t: t, x)",
    "AF.vjp(lambda t: t, x, y)", "AF.jvp(lambda t: t, x, y)", "AF.jvp(lambda t: t, x)", "AF.vhp(lambda t: t, x, x)",
    "AF.vhp(lambda t: t.sum(), x, (x, x))", "AF.jvp(lambda t: t.detach(), x, x, strict=True)",
    "AF.vjp(lambda t: torch.ones(4, 6), x, x, strict=True)", "fwAD.make_dual(x, x)",
    "with fwAD.dual_level(): fwAD.make_dual(x, y)", "with fwAD.dual_level(): fwAD.make_dual(labels, labels)",
    "with fwAD.dual_level(): fwAD.make_dual(x, labels)",
    "with fwAD.dual_level(): fwAD.make_dual(fwAD.make_dual(x, x), x)",
    'with fwAD.dual_level():\n  with fwAD.dual_level(): pass', "fwAD.exit_dual_level()",
    "fwAD.enter_dual_level(); fwAD.exit_dual_level(level=3)",
    "with fwAD.dual_level(): z = torch.zeros(4, 6); z.view(24); z.requires_grad_(); z.copy_(fwAD.make_dual(x, x))",
    "with fwAD.dual_level(): torch.linalg.lu_factor_ex(fwAD.make_dual(x, x), out=(x, labels, labels))",
    "with fwAD.dual_level(): nn.LSTM(6, 3)(fwAD.make_dual(x, x))",
    "with fwAD.dual_level(): torch.add(fwAD.make_dual(x, x), 1, out=torch.empty(4, 6))",
    "with fwAD.dual_level(): F.ctc_loss(fwAD.make_dual(torch.randn(5, 1, 3), torch.randn(5, 1, 3)), torch.tensor([[1]]), (5,), (1,))",
)  # fmt: skip
