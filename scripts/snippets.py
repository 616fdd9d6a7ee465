"""Everyday mistakes in one statement each: `harvest.py` runs them to learn how the installed torch words its errors."""

#: Names that the statements may use: torch, nn, F, and x, y, labels, images, net made anew for each.
PREAMBLE = """
import torch
from torch import nn
from torch.nn import functional as F
x, y = torch.randn(4, 6), torch.randn(5, 7)
labels, images = torch.tensor([0, 1, 2, 3]), torch.randn(2, 3, 8, 8)
net = nn.Linear(6, 3)
"""

SNIPPETS = (
    "net(torch.randn(4, 5))", "x @ y", "x + y", "torch.bmm(x, y)", "torch.cat([x, y])", "torch.stack([x, y])",
    "x.view(5, 5)", "x.reshape(7, -1)", "x.t().view(24)", "x.expand(8, 6)", "x[10]", "x[:, 9]", "x[torch.tensor([9])]",
    "x.squeeze(5)", "x.transpose(0, 3)", "x.permute(0)", "x.mean(4)", "x.item()", "bool(x)", "float(x)", "int(x)",
    "len(torch.tensor(1))", "for _ in torch.tensor(1): pass", "x.scatter(1, torch.tensor([[9]]), 1.0)",
    "x.gather(1, torch.tensor([[9]]))", "x.gather(1, torch.randn(4, 1))", "x.index_select(0, torch.tensor([7]))",
    "nn.Embedding(4, 2)(torch.tensor([4]))", "nn.Embedding(4, 2)(torch.tensor([1.0]))",
    "F.one_hot(torch.tensor([5]), 3)", "F.one_hot(torch.tensor([1.0]))",
    "F.cross_entropy(x, torch.tensor([0, 1, 2, 9]))", "F.cross_entropy(x, torch.tensor([0, 1]))",
    "F.cross_entropy(x, torch.randn(4))", "F.cross_entropy(x, labels.int())", "F.nll_loss(x, labels[:, None])",
    "F.binary_cross_entropy(x, torch.ones(4, 6))", "F.binary_cross_entropy(x.sigmoid(), torch.ones(4))",
    "F.binary_cross_entropy_with_logits(x, torch.ones(3))", "F.mse_loss(x, y)", "F.kl_div(x, y)",
    "nn.Conv2d(1, 4, 3)(images)", "nn.Conv2d(3, 4, 9)(images)", "nn.Conv2d(3, 4, 3)(torch.randn(8))",
    "nn.Conv2d(3, 4, 3)(images.long())", "nn.Conv2d(3, 4, 3, groups=2)", "nn.MaxPool2d(9)(images)",
    "nn.BatchNorm2d(4)(images)", "nn.BatchNorm1d(3)(images)", "nn.BatchNorm1d(6)(x[:1])", "nn.LayerNorm(5)(x)",
    "nn.GroupNorm(2, 3)", "nn.GroupNorm(3, 6)(images)", "nn.LSTM(5, 2)(x)", "nn.LSTM(6, 2)(x, (x, x))",
    "nn.GRU(6, 2)(torch.randn(1, 2, 3, 6))", "nn.MultiheadAttention(5, 2)", "nn.MultiheadAttention(6, 2)(y, y, y)",
    "F.scaled_dot_product_attention(x, y, y)", "nn.Transformer(6, 2)(x, y)", "nn.Dropout(2)", "F.dropout(x, 2.0)",
    "F.interpolate(images, size=(1, 2, 3))", "F.pad(x, (1, 2, 3, 4, 5, 6))", "F.grid_sample(images, x)",
    "x.long() @ x.T", "x.double() @ x.T", "net(x.double())", "net(x.long())", "x.bool() - x.bool()", "-x.bool()",
    "x.long().mean()", "torch.arange(3).softmax(0)", "x.long().add_(0.5)", "x += 1j", "torch.tensor([[1, 2], [3]])",
    "torch.tensor(['a'])", "torch.from_numpy([1])", "torch.zeros(-1)", "torch.eye(-1)", "torch.randint(5, 5, (2,))",
    "torch.randperm(-1)", "torch.linspace(0, 1, -1)", "torch.arange(5, 0, 1)", "torch.full((2,), 'a')",
    "x.backward()", "x.sum().backward()", "l = net(x).sum(); l.backward(); l.backward()", "net(x).backward()",
    "net.weight += 1", "w = net.weight.view(18); w[0] = 1", "net(x).numpy()", "net.weight.numpy()",
    "x.requires_grad_().long().requires_grad_()", "labels.requires_grad_()", "torch.autograd.grad(x.sum(), x)",
    "z = torch.sigmoid(net(x)); s = z.sum(); z += 1; s.backward()", "torch.optim.SGD([], 0.1)",
    "torch.optim.SGD([x], -1.0)", "torch.optim.Adam(net.parameters(), betas=(2, 2))", "torch.optim.SGD(net, 0.1)",
    "torch.optim.SGD([net(x)], 0.1)", "torch.optim.lr_scheduler.StepLR(None, 1)", "nn.Module().foo",
    "nn.Sequential(1)", "nn.Sequential(net)[3]", "nn.ModuleList([1])", "nn.Module()(x)",
    "net.load_state_dict({})", "net.load_state_dict({'weight': x, 'bias': x})", "net.load_state_dict([1])",
    "torch.load('nowhere.pt')", "net.to('cuda:9')", "x.cuda()", "x.to('gpu')", "x.to('meta') + x",
    "x.to('meta').item()",
    "torch.device('cuda', -2)", "x.to(torch.float33)", "torch.nope", "torch.nn.functional.nope", "x.nope",
    "torch.ones(2, 3).sum(dim='a')", "torch.add(x)", "torch.add(x, 'a')", "x.view('a')", "torch.zeros('a')",
    "torch.cat(x)", "torch.cat([])", "torch.cat([x, None])", "torch.stack([])", "torch.split(x, 0)", "x.chunk(0)",
    "x.split([1, 2])", "x.unfold(0, 9, 1)", "x.topk(9)", "x.kthvalue(9)", "x.sort(4)", "x.repeat(2)", "x.tile(-1)",
    "torch.einsum('ij,jk', x, y)", "torch.einsum('ij', x, y)", "torch.linalg.inv(x)",
    "torch.linalg.inv(torch.zeros(2, 2))", "nn.utils.rnn.pack_padded_sequence(x, [0, 1])",
    "torch.linalg.cholesky(-torch.eye(2))", "torch.linalg.solve(x, y)", "torch.multinomial(torch.zeros(3), 2)",
    "torch.multinomial(torch.ones(2), 5)", "torch.normal(0.0, -1.0, (2,))", "torch.bernoulli(torch.tensor([2.0]))",
    "torch.distributions.Normal(0.0, -1.0)", "torch.distributions.Categorical(torch.zeros(0))",
    "torch.utils.data.DataLoader([1], batch_size=0)", "next(iter(torch.utils.data.DataLoader([x, y], batch_size=2)))",
    "next(iter(torch.utils.data.DataLoader([None, 1])))", "torch.utils.data.random_split([1, 2], [1, 2])",
    "torch.utils.data.DataLoader([], shuffle=True)", "torch.utils.data.TensorDataset(x, y)",
    "torch.jit.script(lambda a: a.foo)", "torch.vmap(torch.sum)(x, y)", "torch.func.grad(torch.sin)(x)",
    "torch.quantile(x.long(), 0.5)", "torch.histc(x.long())", "torch.bincount(x)", "torch.fft.fft(torch.tensor(1))",
    "torch.distributed.all_reduce(x)", "torch.distributed.get_rank()", "torch.distributed.init_process_group('nccl')",
    "nn.utils.rnn.pad_sequence([])", "nn.CrossEntropyLoss(weight=torch.ones(2))(x, labels)", "nn.Linear(-1, 2)",
    "nn.Linear(6, 'a')", "nn.Unflatten(1, (2, 2))(x)", "nn.Flatten(3)(x)", "nn.PixelShuffle(2)(images)",
    "nn.Upsample(scale_factor=(1, 2, 3))(images)", "nn.CTCLoss()(torch.randn(5, 1, 3), labels, (5,), (9,))",
    "nn.TripletMarginLoss()(x, x, y)", "nn.CosineEmbeddingLoss()(x, x, x)", "nn.Bilinear(2, 2, 2)(x, x)",
    "x.to_sparse().view(24)", "x.to_sparse() @ y",
    "torch.inference_mode()(lambda: net(x))().sum().backward()", "torch.no_grad()(lambda: net(x))().sum().backward()",
    "torch.nested.nested_tensor([x, y]).shape", "x.resize_(-1)", "x.T.contiguous().view(-1).unflatten(0, (5, 5))",
)  # fmt: skip
