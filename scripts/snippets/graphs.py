"""Wrong use of the autograd engine: graphs, gradients, leaves, writes in place, hooks."""

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
    "(x @ w).backward()", "(x @ w).sum().backward(torch.ones(3))", "(x @ w).backward(torch.ones(4, 2))",
    "(x @ w).backward(gradient='a')", "(x @ w).sum().backward(inputs=[])",
    "(x @ w).sum().backward(inputs=[x])", "(x @ w).sum().backward(retain=True)", "(x @ w).sum().item().backward()",
    "(x @ w).sum().detach().backward()", "(x @ w).argmax().backward()", "((x @ w) > 0).sum().backward()",
    "(x @ w).round().long().backward()", "torch.tensor(3.0).backward()",
    "torch.tensor((x @ w).sum().item(), requires_grad=False).backward()",
    'with torch.no_grad(): z = (x @ w).sum()\nz.backward()', "loss = (x @ w).sum(); loss.backward(); loss.backward()",
    "loss = (x @ w).pow(2).sum(); loss.backward(); loss.backward()",
    "h = x @ w; h.sum().backward(); (h ** 2).sum().backward(); h.exp().sum().backward()",
    "h = (x @ w).exp(); h.sum().backward(); h.mean().backward()", "torch.autograd.backward([x])",
    "torch.autograd.backward([(x @ w)], [None])", "torch.autograd.backward([(x @ w)], [1, 2])",
    "torch.autograd.backward([(x @ w)], ['a'])", "torch.autograd.backward([(x @ w).sum()], [torch.ones(2)])",
    "torch.autograd.backward((x @ w).sum(), grad_tensors=[None], grad_variables=[None])",
    "torch.autograd.backward((x @ w), (torch.ones(4, 3) + 1j))", "torch.autograd.grad((x @ w), w)",
    "torch.autograd.grad((x @ w).sum(), x)", "torch.autograd.grad((x @ w).sum(), [w, net.weight])",
    "torch.autograd.grad((x @ w).sum(), [])", "torch.autograd.grad(x.sum(), w)",
    "torch.autograd.grad((x @ w), w, torch.ones(2))", "torch.autograd.grad((x @ w).sum(), w, is_grads_batched=True)",
    "torch.autograd.grad((x @ w), w, torch.ones(2, 3, 3), is_grads_batched=True)",
    "torch.autograd.grad((x @ w).sum(), (w, w * 2))",
    "torch.autograd.grad((x @ w).sum(), w, materialize_grads=True, allow_unused=False)",
    "g, = torch.autograd.grad((x @ w).sum(), w); torch.autograd.grad(g.sum(), w)",
    "g, = torch.autograd.grad((x @ w).sum(), w, create_graph=True); torch.autograd.grad(g.sum(), w)",
    "z = (x @ w).pow(2).sum(); torch.autograd.grad(z, w); torch.autograd.grad(z, w)",
    "torch.autograd.grad((x @ w).sum(), w, w, w, w, w, w, w, w)",
    "torch.autograd.grad((x @ w).sum() > 0, w)", "w.zero_()", "w += 1", "w[0] = 1", "w.data += 'a'", "w.fill_(0)",
    "w.mul_(2)", "w.copy_(x.T)", "w.copy_(w.detach())", "w.view(18)[0] = 1", "w[0].add_(1)", "w.T.zero_()",
    "F.relu(w, inplace=True)", "nn.Dropout(inplace=True)(w)", "w.detach_().backward()", "(w * 1)[0].detach_()",
    "w.t().detach_()", "w.grad.data.zero_()", "w.grad = 3", "w.grad = x", "w.grad = w.detach().double()",
    "w.grad = torch.ones(6, 3, device='meta')", "w.grad = w.detach().to_sparse(); w.grad = torch.ones(5)",
    "w.requires_grad = 'a'", "(x @ w).requires_grad = False", "(x @ w).requires_grad_(False)",
    "labels.requires_grad = True", "w.long().requires_grad_()", "x.bool().requires_grad_()",
    "torch.tensor([1, 2], requires_grad=True)", "torch.zeros(2, dtype=torch.long, requires_grad=True)",
    "nn.Parameter(torch.ones(2).bool())", "w.data = labels", "w.data = 3", "(x @ w).data = None", "w.resize_(2)",
    "w.detach().set_(x.double())", "w.retain_grad().grad", "x.retain_grad()", "(x @ w).is_leaf = False",
    "w._version = 3", "w.numpy()", "import copy; copy.deepcopy(x @ w)", "import copy; copy.deepcopy([x @ w])",
    "h = (x @ w).sigmoid(); z = h.sum(); h += 1; z.backward()",
    "h = (x @ w).exp(); z = h.sum(); h.mul_(2); z.backward()",
    "h = (x @ w).tanh(); z = h.sum(); h[0] = 0; z.backward()",
    "h = x @ w; z = (h * h).sum(); h.add_(1); z.backward()",
    'z = (x @ w).pow(2).sum()\nwith torch.no_grad(): w.add_(1)\nz.backward()\n(x @ w).nope',
    'z = (net(x) @ w.T).sum()\nwith torch.no_grad(): w.mul_(2)\nz.backward()', "a, b = (x @ w).unbind(1)[:2]; a += 1",
    "a, *_ = (x @ w).split(2); a.mul_(2)", "a, *_ = (x @ w).chunk(2); a.zero_()",
    'with torch.no_grad(): v = w.view(18)\nv.add_(1)', 'with torch.no_grad(): v = (x @ w).view(12)\nv += w.sum()',
    "for row in x @ w: row.add_(1)", 'h = x @ w\nfor row in h: row += w[0]', "(x @ w).expand(2, 4, 3).add_(1)",
    "x[:1].expand(4, 6).add_(1)", "x.T[0:3].copy_(x[:3]); x.as_strided((2, 2), (1, 1)).add_(1)",
    "z = torch.zeros(4, 3); z[:] = x @ w; z = z.detach(); z.backward()",
    "torch.sigmoid(x @ w, out=torch.empty(4, 3))", "torch.matmul(x, w, out=torch.empty(4, 3))",
    "torch.add(w, 1, out=w)", 'with torch.inference_mode(): v = x * 1\n(v @ w).sum().backward()',
    'with torch.inference_mode(): v = x * 1\nv.add_(1)', 'with torch.inference_mode(): v = x * 1\nv.requires_grad_()',
    'with torch.inference_mode(): v = torch.ones(3, requires_grad=True)\nv.mul(w[0]).sum().backward()',
    'with torch.inference_mode(): v = x * 1\nv._version',
    'with torch.inference_mode(): v = net(x)\nv.sum().backward()',
    'with torch.inference_mode(): v = x.view(24)\nv.nope()',
    "with torch.autograd.set_detect_anomaly(True): (w[0] * 0 / 0).sqrt().sum().backward()",
    "with torch.autograd.set_detect_anomaly(True): (w * 0).sqrt().mul(0).sum().backward()",
    "with torch.autograd.detect_anomaly(): (-w.abs()).sqrt().sum().backward()",
    "with torch.autograd.detect_anomaly(): (w - w).norm(dim=0).mul(float('nan')).sum().backward()",
    "torch.autograd.Variable(3)", "torch.autograd.Variable([1.0])",
    "torch.no_grad(net)(x)(x)",
    'with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: 3): z = w.exp().sum()\nz.backward()',
    'with torch.autograd.graph.saved_tensors_hooks(lambda t: t.add_(1), lambda t: t): z = x.exp().mul(w.sum()).sum()\nz.backward()',
    "with torch.autograd.graph.disable_saved_tensors_hooks('no hooks here'):\n  with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t): w.exp()",
    "z = w.exp(); z.grad_fn._saved_result; z.sum().backward(); z.grad_fn._saved_result",
    "z = w.exp(); z.sum().backward(); z.grad_fn._raw_saved_result.register_hooks(3, 4)",
    "z = w.exp(); z.grad_fn._raw_saved_result.register_hooks(lambda t: t)",
    "z = w.exp(); z.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t); z.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)",
    "torch.autograd.graph.register_multi_grad_hook([x], lambda g: g)",
    "torch.autograd.graph.register_multi_grad_hook([w], lambda g: g, mode='some')",
    "torch.autograd.graph.increment_version(3)", "torch.autograd.graph.get_gradient_edge(x)",
    "h = x @ w; h.grad_fn.register_hook(lambda a, b: (1, 2, 3)); h.sum().backward()",
    "h = x @ w; h.grad_fn.register_prehook(lambda a: 3); h.sum().backward()",
    "w.register_hook(lambda g: g.sum()); (x @ w).sum().backward()",
    "w.register_hook(lambda g: g.double()); (x @ w).sum().backward()",
    "w.register_hook(lambda g: (g, g)); (x @ w).sum().backward()",
    "torch._C._autograd._nope", "torch.igamma(x.abs().requires_grad_(), x.abs()).sum().backward()",
    "torch.floor_divide(w, 2).sum().backward()", "w.bernoulli().sum().backward().nope",
    "torch.histc(w).sum().backward()", "torch.bucketize(w, w[0]).sum().backward()",
    "torch.multinomial(w.abs(), 1).sum().backward()", "torch.heaviside(w, w).sum().backward()",
    "torch.linalg.matrix_rank(w).backward()", "w.argmax().backward()",
    "torch.quantize_per_tensor(w, 0.1, 0, torch.qint8).dequantize().sum().backward()",
    "torch.nanmedian(w.long()).backward()", "torch.linalg.eig(w[:3])[1].sum().backward()",
    "torch.linalg.qr(w, 'r')[1].sum().backward()", "torch._foreach_add([w], [w, w])",
    "torch.sort(w).indices.sum().backward()",
    "torch.cdist(w, w, p=2).sum().backward(create_graph=True); torch.cdist(w, w, p=1).sum().backward(create_graph=True); w.grad.sum().backward()",
    "torch.autograd.functional.jacobean(lambda a: a, x)",
)  # fmt: skip
