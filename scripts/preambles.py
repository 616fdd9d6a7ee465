"""Names that several areas of mistakes use, made anew for each statement."""

COMPILER = """
import io
import torch.fx as fx
from torch.export import export, Dim
eager = lambda f, **given: torch.compile(f, backend="eager", fullgraph=True, **given)
class Branching(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x
class Printing(nn.Module):
    def forward(self, x):
        print(x.sum().item())
        return x
"""

GRADIENTS = """
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

FILES = """
import io, os, pickle, tempfile, zipfile
import numpy
from torch.utils import data, dlpack
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset, ConcatDataset, IterableDataset, random_split
def saved(value, **given):
    file = io.BytesIO()
    torch.save(value, file, **given)
    file.seek(0)
    return file
def path_of(content):
    with tempfile.NamedTemporaryFile(suffix=".pt", delete=False) as file:
        file.write(content)
    return file.name
class Strange:
    pass
class Stream(IterableDataset):
    def __iter__(self):
        return iter([1, 2])
class Failing(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return {"a": 1}[index]
first = lambda *args, **given: next(iter(DataLoader(*args, **given)))
pairs = TensorDataset(x, x)
"""

STEPS = """
from torch import optim
from torch.optim import lr_scheduler as sched, swa_utils
sgd = optim.SGD(net.parameters(), lr=0.1)
adam = optim.Adam(net.parameters())
def step(opt, data=x):
    net(data).sum().backward()
    opt.step()
"""
