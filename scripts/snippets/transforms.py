"""Wrong use of torch.func."""

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
    "func.vmap(Twice.apply)(w)", "func.grad(lambda t: Twice.apply(t).sum())(w)",
    "func.jvp(lambda t: Twice.apply(t), (w,), (w,))", "func.vmap(torch.sum)(x, y)",
    "func.vmap(lambda a: a.item())(x)", "func.vmap(lambda a: a.sum().item())(x)",
    "func.vmap(lambda a: a if a > 0 else -a)(x[0])", "func.vmap(lambda a: 3)(x)", "func.vmap(lambda a: 'a')(x)",
    "func.vmap(lambda a: None)(x)", "func.vmap(lambda a: a)(3)", "func.vmap(lambda a: a)()",
    "func.vmap(lambda a: a, in_dims=3)(x)", "func.vmap(lambda a: a, in_dims=None)(x)",
    "func.vmap(lambda a: a, in_dims='a')(x)", "func.vmap(lambda a: a, in_dims=(0, 0))(x)",
    "func.vmap(lambda a: a, in_dims=[0])(x)", "func.vmap(lambda a, b: a, in_dims=(0, 0))(x, y)",
    "func.vmap(lambda a, b: a, in_dims=(0, 0))(x, 3)", "func.vmap(lambda a: a, out_dims=4)(x)",
    "func.vmap(lambda a: a, out_dims=(0, 0))(x)", "func.vmap(lambda a: (a, a), out_dims=(0,))(x)",
    "func.vmap(lambda a: a, out_dims='a')(x)", "func.vmap(lambda a: a, out_dims=None)(x)",
    "func.vmap(lambda a: a + torch.randn(6))(x)", "func.vmap(lambda a: F.dropout(a))(x)",
    "func.vmap(lambda a: a, randomness='a')(x)", "func.vmap(lambda a: a, chunk_size=0)(x)",
    "func.vmap(lambda a: torch.nonzero(a))(x)",
    "func.vmap(lambda a: a[a > 0])(x)", "func.vmap(lambda a: a.unique())(x)",
    "func.vmap(lambda a: torch.zeros(6).add_(a))(x)", "func.vmap(lambda a: torch.zeros(6).copy_(a))(x)",
    "func.vmap(lambda a: torch.add(a, 1, out=torch.empty(6)))(x)", "func.vmap(lambda a: a.tolist())(x)",
    "func.vmap(lambda a: a.numpy())(x)", "func.vmap(lambda a: list(range(a)))(labels)",
    "func.vmap(lambda a: a.masked_select(a > 0))(x)", "func.vmap(nn.BatchNorm1d(6))(x[:, None].expand(4, 2, 6))",
    "func.vmap(lambda a: a.to_sparse())(x)", "func.vmap(lambda a: a.data)(x).nope",
    "func.vmap(lambda a: torch.split(a, a))(labels)", "func.vmap(func.vmap(func.vmap(lambda a: a)))(x)",
    "func.vmap(lambda a: a)(a=x)", "func.vmap(torch.linalg.eigvalsh)(x)",
    "func.vmap(lambda a: torch.tensor([a]))(x[0])", "func.vmap(nn.LSTM(6, 2))(x[:, None])",
    "func.vmap(lambda a: bool(a.any()))(x)", "func.grad(lambda a: a)(x)", "func.grad(lambda a: a.sum().item())(x)",
    "func.grad(lambda a: 3)(x)", "func.grad(lambda a: (a.sum(), a.sum()))(x)",
    "func.grad(lambda a: a.sum(), has_aux=True)(x)", "func.grad(lambda a: (a.sum(), 3), has_aux=True)(x)",
    "func.grad(lambda a: a.sum(), argnums=2)(x)", "func.grad(lambda a: a.sum(), argnums='a')(x)",
    "func.grad(lambda a: a.sum(), argnums=())(x)", "func.grad(lambda a: a.sum(), argnums=(0, 0))(x)",
    "func.grad(lambda a: a.sum())(labels)", "func.grad(lambda a: a.sum())(3)", "func.grad(lambda a: a.sum())()",
    "func.grad(lambda a: a.sum().backward())(x)", "func.grad(lambda a: a.detach().requires_grad_().sum())(x)",
    "func.grad(lambda a: (a + 1j).sum())(x)", "func.grad(lambda a: {'a': a.sum()})(x)",
    "func.grad_and_value(lambda a: a)(x)", "func.jacrev(lambda a: 3)(x)", "func.jacrev(lambda a: 'a')(x)",
    "func.jacrev(lambda a: a, argnums=3)(x)", "func.jacrev(lambda a: a, chunk_size=0)(x)",
    "func.jacrev(lambda a: a, has_aux=True)(x)", "func.jacfwd(lambda a: 3)(x)",
    "func.jacfwd(lambda a: a, has_aux=True)(x)", "func.jacfwd(lambda a: a, argnums=3)(x)",
    "func.jacfwd(lambda a: a, randomness='a')(x)", "func.jacfwd(lambda a: a.long())(labels)",
    "func.hessian(lambda a: a)(3)", "func.jvp(lambda a: a, x, x)", "func.jvp(lambda a: a, (x,), (y,))",
    "func.jvp(lambda a: a, (x,), (x, x))", "func.jvp(lambda a: 3, (x,), (x,))", "func.jvp(lambda a: a, (), ())",
    "func.jvp(lambda a: a, (3,), (x,))", "func.jvp(lambda a: a, (x,), (labels,))",
    "func.jvp(lambda a: a, (x,), (x,), has_aux=True)", "func.vjp(lambda a: 3, x)",
    "func.vjp(lambda a: a, x)[1](y)", "func.vjp(lambda a: a, x)[1]((x, x))", "func.vjp(lambda a: a, x, has_aux=True)",
    "func.linearize(lambda a: a, x)[1](y)", "func.linearize(lambda a: a, x)[1](x, x)",
    "func.functionalize(lambda a: a, remove='a')(x)", "func.functionalize(lambda a: a.set_(x))(x)",
    "func.functional_call(net, {}, x, x)", "func.functional_call(net, {'weight': x}, y)",
    "func.functional_call(net, {'nope': x}, x, strict=True)",
    "func.functional_call(net, {'weight': net.weight}, x, strict=True)", "func.functional_call(net, 3, x)",
    "func.functional_call(net, ({'weight': x}, {'weight': x}), x)", "func.functional_call(3, {}, x)",
    "func.functional_call(net, {'weight': 3}, x)", "func.stack_module_state([])",
    "func.stack_module_state([net, nn.ReLU()])", "func.stack_module_state([net, nn.Linear(6, 4)])",
    "func.stack_module_state([net, nn.Linear(6, 3).eval()])",
    "func.stack_module_state([nn.Linear(6, 3), nn.Linear(6, 3).requires_grad_(False)])", "func.debug_unwrap(3)",
    "torch.func.pmap(lambda a: a)", "torch.functorch.vmap", "func.vmap(func.grad(lambda a: a.pow(2)))(x)",
)  # fmt: skip
