"""The search where shapes do not fit: the line to edit and the repair, for faults of kinds that real programs have."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import OPEN, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "rows taken for columns of a grid, whose map is not resampled": (
        """
        import torch
        import torch.nn.functional as F
        from torch import nn
        class Net(nn.Module):
            def __init__(self, wide=96, high=48, patch=8):
                super().__init__()
                self.cut, self.out = nn.Conv2d(3, 16, patch, stride=patch), nn.Linear(16, 4)
                self.grid = (wide // patch, high // patch)
            def forward(self, picture):
                seen = self.out(self.cut(picture).flatten(2).transpose(1, 2)).transpose(1, 2)
                rows, columns = self.grid
                logits = seen.reshape(len(picture), 4, rows, columns)
                return F.interpolate(logits, scale_factor=8, mode="bilinear", align_corners=False)
        net = Net()
        F.cross_entropy(net(torch.rand(5, 3, 48, 96)), torch.randint(0, 4, (5, 48, 96))).backward()
        """, "", "columns, rows"),
    "an up-convolution that falls one short of its skip": (
        """
        import torch
        from torch import nn
        class Up(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.grow = nn.ConvTranspose2d(width, width, 3, stride=2, padding=1)
                self.mix = nn.Conv2d(2 * width, width, 1)
            def forward(self, x, skip):
                return self.mix(torch.cat([self.grow(x), skip], dim=1))
        Up(4)(torch.rand(2, 4, 8, 8), torch.rand(2, 4, 16, 16)).sum().backward()
        """, "self.grow = nn", "output_padding=1"),
    "beside a layer is added what has the width of its input": (
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Beside(nn.Module):
            def __init__(self, base, rank=2):
                super().__init__()
                self.base = base
                self.down = nn.Parameter(torch.randn(rank, base.in_features))
                self.up = nn.Parameter(torch.zeros(base.in_features, rank))
            def forward(self, x):
                return self.base(x) + x @ self.down.t() @ self.up.t()
        class Block(nn.Module):
            def __init__(self, width, times):
                super().__init__()
                self.wide, self.narrow = nn.Linear(width, times * width), nn.Linear(times * width, width)
            def forward(self, x):
                return self.narrow(self.wide(x).relu())
        def changed(net):
            for name, layer in list(net.named_children()):
                if isinstance(layer, nn.Linear):
                    setattr(net, name, Beside(layer))
            return net
        changed(Block(6, 3))(torch.randn(4, 6)).sum().backward()
        """, "self.up =", "base.out_features, rank"),
    "keys repeated as often as there are groups of them": (
        """
        import torch
        from torch import nn
        class Grouped(nn.Module):
            def __init__(self, dim, heads, groups):
                super().__init__()
                self.heads, self.groups, self.size = heads, groups, dim // heads
                self.times = groups
                self.query, self.key = nn.Linear(dim, dim), nn.Linear(dim, groups * self.size)
            def forward(self, x):
                q = self.query(x).unflatten(-1, (self.heads, self.size)).transpose(1, 2)
                k = self.key(x).unflatten(-1, (self.groups, self.size)).transpose(1, 2)
                return (q + k.repeat_interleave(self.times, dim=1)).softmax(-1)
        Grouped(96, 12, 3)(torch.rand(2, 5, 96)).sum().backward()
        """, "self.times = groups", "heads // groups", OPEN),
    "blocks of a decoder built for twice their own width": (
        """
        import torch
        from torch import nn
        class Tower(nn.Module):
            def __init__(self, widths):
                super().__init__()
                last, self.down, self.up = 3, nn.ModuleList(), nn.ModuleList()
                for width in widths:
                    self.down.append(nn.Linear(last, width))
                    last = width
                for width in reversed(widths):
                    self.up.append(nn.Linear(2 * width, width))
                    last = width
            def forward(self, x):
                kept = []
                for layer in self.down:
                    x = layer(x)
                    kept.append(x)
                for layer in self.up:
                    x = layer(torch.cat([x, kept.pop()], dim=1))
                return x
        Tower([8, 20, 36])(torch.rand(4, 3)).sum().backward()
        """, "self.up.append", "last + width"),
    "a product of factors the other way round, which shows where it is not square": (
        """
        import torch
        a, b = torch.rand(2, 6), torch.rand(2, 6)
        weights = [torch.zeros(6, 6), torch.zeros(9, 6)]
        factors = [(torch.rand(2, 6), torch.rand(6, 2)), (torch.rand(2, 6), torch.rand(9, 2))]
        for weight, (down, up) in zip(weights, factors):
            weight.add_(down.T @ up.T)
        """, "weight.add_", "(down.T @ up.T).t()"),
    "a layer that is made and never called": (
        """
        import torch
        from torch import nn
        class Coder(nn.Module):
            def __init__(self):
                super().__init__()
                self.encode, self.decode = nn.Linear(6, 4), None
                self.decode = nn.Linear(4, 6)
            def forward(self, x):
                code = self.encode(x).relu()
                return code
        net, x = Coder(), torch.rand(5, 6)
        nn.functional.mse_loss(net(x), x, reduction="none").mean().backward()
        """, "code", "self.decode("),
    "two arguments that have each other's names": (
        """
        import torch
        from torch import nn
        class Forward(nn.Module):
            def __init__(self, dim, inner):
                super().__init__()
                self.net = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, inner), nn.GELU(), nn.Linear(inner, dim))
            def forward(self, x):
                return x + self.net(x)
        class Block(nn.Module):
            def __init__(self, dim, wide):
                super().__init__()
                self.attend, self.feed = nn.Linear(dim, dim), Forward(wide, dim)
            def forward(self, x):
                return self.feed(self.attend(x))
        Block(6, 10)(torch.rand(4, 6)).sum().backward()
        """, "Forward(wide, dim)", "Forward(dim, wide)"),
    "a slice from its end on in place of up to it": (
        """
        import torch
        from torch import nn
        class Placed(nn.Module):
            def __init__(self):
                super().__init__()
                self.places, self.out = nn.Parameter(torch.rand(1, 7, 4)), nn.Linear(4, 2)
            def forward(self, x):
                count = x.size(1)
                return self.out(x + self.places[:, count:])
        Placed()(torch.rand(3, 7, 4)).sum().backward()
        """, "self.places[:, count:]", "self.places[:, :count]"),
    "a transposition that puts time where the features were": (
        """
        import torch
        from torch import nn
        class Tagger(nn.Module):
            def __init__(self):
                super().__init__()
                self.out = nn.Linear(6, 3)
            def forward(self, x):
                x = x.transpose(1, 2)
                return self.out(x).mean(dim=1)
        Tagger()(torch.rand(4, 10, 6)).sum().backward()
        """, "x = x.transpose", ""),
    "odd lengths come back one short from a transposed convolution used at two depths": (
        """
        import torch
        from torch import nn
        class Small(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.halve = nn.MaxPool1d(2)
                self.grow = nn.ConvTranspose1d(width, width, 2, stride=2)
            def forward(self, x):
                first = self.halve(x)
                second = self.grow(self.halve(first))
                third = self.grow(second)
                return torch.cat([second, first], 1).mean() + torch.cat([third, x], 1).mean()
        Small(3)(torch.rand(2, 3, 21)).backward()
        """, "torch.cat([third, x], 1)", "interpolate(third, size=x.shape[2:])"),
    "a pyramid doubles a map that was rounded up when it was halved": (
        """
        import torch
        import torch.nn.functional as F
        halve = torch.nn.Conv2d(2, 2, 3, 2, 1)
        large = torch.rand(1, 2, 9, 9)
        small = halve(large)
        (large + F.interpolate(small, scale_factor=2)).sum().backward()
        """, "F.interpolate(small", "F.interpolate(small, size=large.shape[2:])"),
    "the skip connection is taken from a stack": (
        """
        import torch
        from torch import nn
        halve, double = nn.AvgPool3d(2), nn.Upsample(scale_factor=2)
        skips = [torch.rand(1, 2, 7, 8, 7, requires_grad=True)]
        x = halve(skips[0])
        torch.cat([double(x), skips.pop()], 1).sum().backward()
        """, "torch.cat", "size=skip.shape[2:]"),
    "convolutions without padding take the edges of a map": (
        """
        import torch
        from torch import nn
        down = nn.Sequential(nn.MaxPool1d(2), nn.Conv1d(2, 2, 5))
        up = nn.ConvTranspose1d(2, 2, 2, stride=2)
        x = torch.rand(1, 2, 32)
        y = up(down(x))
        torch.cat([x, y], dim=1).sum().backward()
        """, "torch.cat", "x.narrow(2, (x.size(2) - y.size(2)) // 2, y.size(2))"),
    "a bare squeeze drops a batch of one": (
        """
        import torch
        from torch import nn
        pool, norm = nn.AdaptiveAvgPool2d(1), nn.BatchNorm1d(3).eval()
        for batch in torch.rand(5, 3, 4, 4).split(2):
            pooled = pool(batch).squeeze()
            norm(pooled)
        """, "pool(batch).squeeze()", "pool(batch).flatten(1)"),
    "parts of one row stacked in place of joined": (
        """
        import torch
        from torch import nn
        class Table(nn.Module):
            def __init__(self):
                super().__init__()
                self.kinds = nn.Embedding(4, 3)
                self.out = nn.Linear(5, 1)
            def forward(self, numbers, kind):
                return self.out(torch.stack([numbers, self.kinds(kind)], dim=1))
        Table()(torch.rand(6, 2), torch.randint(0, 4, (6,))).sum().backward()
        """, "torch.stack(", "torch.cat("),
    "vectors for a generator that is given maps elsewhere": (
        """
        import torch
        from torch import nn
        class Painter(nn.Module):
            def __init__(self, noise):
                super().__init__()
                self.up = nn.ConvTranspose2d(noise, 3, 4)
            def forward(self, z):
                return self.up(z).tanh()
        def between(noise, steps):
            share = torch.linspace(0, 1, steps)[:, None]
            return share * torch.rand(noise) + (1 - share) * torch.rand(noise)
        painter = Painter(7)
        painter(torch.randn(2, 7, 1, 1)).mean().backward()
        painter(between(7, 5))
        """, "share * torch.rand(noise) +", "[..., None, None]"),
    "rows of samples and of time, joined beside labels that are laid out alike": (
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Reader(nn.Module):
            def __init__(self):
                super().__init__()
                self.steps, self.out = nn.GRU(3, 8), nn.Linear(8, 5)
            def forward(self, x):
                made, _ = self.steps(x.transpose(0, 1))
                return self.out(made).transpose(0, 1)
        read = Reader()
        x, y = torch.rand(4, 6, 3), torch.randint(0, 5, (4, 6))
        nn.functional.cross_entropy(read(x).view(4 * 6, -1), y.reshape(4 * 6)).backward()
        """, "read(x).view(", "read(x).reshape("),
    "a sum that begins with one row and gets those of several": (
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 4)
        def total(rows):
            whole = torch.zeros(4)
            for row in rows:
                whole += net(row)
            return whole
        total(torch.rand(2, 5, 3)).mean().backward()
        """, "whole += net(row)", "whole = whole + net(row)"),
    "an average over the features, which are as many as a name says": (
        """
        import torch
        from torch import nn
        class Reader(nn.Module):
            def __init__(self, length=48, piece=6, width=24, classes=5):
                super().__init__()
                self.piece, self.take = piece, nn.Linear(piece, width)
                self.out = nn.Linear(width, classes)
            def forward(self, x):
                parts = self.take(x.unflatten(1, (-1, self.piece)))
                seen = parts.mean(dim=2)
                return self.out(seen)
        net = Reader(length=36)
        nn.functional.cross_entropy(net(torch.rand(4, 36)), torch.arange(4)).backward()
        """, "parts.mean(dim=2)", "parts.mean(dim=1)"),
    "all labels counted where a model has some of them": (
        """
        import torch
        from torch import nn
        NAMES = ["bird", "cat", "none", "dog", "fish"]
        LEARNED = [one for one in NAMES if one != "none"]
        def hot(rows):
            made = torch.zeros(len(rows), len(LEARNED))
            for at, name in enumerate(rows):
                made[at] = torch.tensor([float(name == one) for one in LEARNED])
            return made
        def shares(rows):
            return torch.tensor([1.0 + rows.count(one) for one in NAMES])
        rows = ["cat", "dog", "none", "fish", "bird", "dog"]
        net, target, more = nn.Linear(3, len(LEARNED)), hot(rows), shares(rows)
        nn.functional.binary_cross_entropy_with_logits(net(torch.rand(6, 3)), target, pos_weight=more).backward()
        """, "for one in NAMES])", "for one in LEARNED])"),
    "parts unpacked in another order, where two settings could be made one": (
        """
        import torch
        from torch import nn
        PAST, AHEAD = 24, 7
        class Block(nn.Module):
            def __init__(self, past, ahead):
                super().__init__()
                self.body = nn.Linear(past, 16)
                self.to_past, self.to_ahead = nn.Linear(16, past), nn.Linear(16, ahead)
            def forward(self, x):
                h = self.body(x).relu()
                return self.to_ahead(h), self.to_past(h)
        class Stack(nn.Module):
            def __init__(self, past, ahead):
                super().__init__()
                self.blocks = nn.ModuleList([Block(past, ahead) for _ in range(2)])
            def forward(self, x):
                total = 0
                for block in self.blocks:
                    seen, told = block(x)
                    x = x - seen
                    total = total + told
                return total
        net, rows = Stack(PAST, AHEAD), torch.rand(6, 40)
        nn.functional.mse_loss(net(rows[:, :PAST]), rows[:, PAST : PAST + AHEAD]).backward()
        """, "return self.to_ahead(h)", "self.to_past(h), self.to_ahead(h)"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_the_line_to_edit_is_where_the_shapes_went_apart(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])
