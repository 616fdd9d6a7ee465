"""The search where shapes do not fit: the line to edit and the repair, for faults of kinds that real programs have."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
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
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_the_line_to_edit_is_where_the_shapes_went_apart(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])
