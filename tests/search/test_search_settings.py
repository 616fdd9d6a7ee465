"""Numbers that settings, layers and loops know already: which is read where another is meant, or written twice."""

from __future__ import annotations

import pytest
from faults import OPEN, assert_repaired

pytest.importorskip("torch")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "what the old head gives, where what it takes is meant": (
        """
        import torch
        from torch import nn
        class Base(nn.Module):
            def __init__(self, classes=20):
                super().__init__()
                self.body, self.fc = nn.Linear(6, 48), nn.Linear(48, classes)
            def forward(self, x):
                return self.fc(self.body(x).relu())
        def adapted(classes):
            net = Base()
            width = net.fc.out_features
            net.fc = nn.Linear(width, classes)
            return net
        nn.functional.cross_entropy(adapted(2)(torch.rand(8, 6)), torch.arange(8) % 2).backward()
        """, "width = net.fc", "net.fc.in_features"),
    "a marker that is looked for and was not put in": (
        """
        import torch
        def around(points, centres, most):
            count, asked = points.shape[0], centres.shape[0]
            at = torch.arange(count).repeat(asked, 1)
            at[torch.cdist(centres, points) > 0.6] = count
            at = at.sort(dim=-1).values[:, :most]
            far = at == asked
            return torch.where(far, at[:, :1].expand_as(at), at)
        torch.manual_seed(0)
        points = torch.rand(40, 2)
        layer = torch.nn.Linear(2, 3)
        layer(points[around(points, points[:8], 30)]).sum().backward()
        """, "far = at ==", "at == count"),
    "lengths that shrink as often as there are convolutions": (
        """
        import torch
        from torch import nn
        def shrunk(lengths, layers=1):
            for _ in range(layers):
                lengths = (lengths - 1) // 2 + 1
            return lengths
        class Listener(nn.Module):
            def __init__(self, width=8):
                super().__init__()
                self.convs = nn.ModuleList([nn.Conv1d(4, width, 3, 2, 1), nn.Conv1d(width, width, 3, 2, 1)])
                self.out = nn.Linear(width, 5)
            def forward(self, x, lengths):
                for conv in self.convs:
                    x = conv(x).relu()
                return self.out(x.transpose(1, 2)).log_softmax(-1), shrunk(lengths)
        torch.manual_seed(0)
        net = Listener()
        rows, lengths = net(torch.rand(3, 4, 40), torch.tensor([40, 36, 31]))
        targets = torch.randint(1, 5, (9,))
        nn.functional.ctc_loss(rows.transpose(0, 1), targets, lengths, torch.tensor([3, 3, 3])).backward()
        """, "shrunk(lengths)", "shrunk(lengths, layers=len(self.convs))"),
    "a number that a view and the layer behind it share": (
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(3, 6, 3, 2)
                self.flat = 6 * 6 * 6
                self.fc = nn.Linear(self.flat, 5)
            def forward(self, x):
                return self.fc(self.conv(x).relu().view(-1, self.flat))
        images, labels = torch.rand(9, 3, 25, 25), torch.arange(9) % 5
        nn.functional.cross_entropy(Net()(images), labels).backward()
        """, "self.flat = 6", "6 * 12 * 12"),
    "a literal that gave a parameter one of two sizes": (
        """
        import torch
        from torch import nn
        class Spectral(nn.Module):
            def __init__(self, width, rows, columns):
                super().__init__()
                self.rows, self.columns = rows, columns
                self.weight = nn.Parameter(0.1 * torch.randn(width, width, rows, columns, dtype=torch.cfloat))
            def forward(self, x):
                low = torch.fft.rfft2(x)[:, :, : self.rows, : self.columns]
                return torch.einsum("bixy,ioxy->boxy", low, self.weight).abs().mean()
        settings = dict(modes=(10, 11), width=4)
        net = Spectral(settings["width"], *settings["modes"])
        net(torch.rand(2, 4, 24, 16)).backward()
        """, "settings = dict", "modes=(10, 9)"),
    "one tower ends in the setting that the other has inside": (
        """
        import torch
        from dataclasses import dataclass
        from torch import nn
        @dataclass
        class Config:
            rows: int = 9
            hidden: int = 48
            embed: int = 20
        class Left(nn.Module):
            def __init__(self, cfg):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(cfg.rows, cfg.hidden), nn.ReLU(), nn.Linear(cfg.hidden, cfg.embed))
            def forward(self, x):
                return self.body(x)
        class Right(nn.Module):
            def __init__(self, cfg):
                super().__init__()
                self.ids = nn.Embedding(cfg.rows, cfg.hidden)
                self.out = nn.Linear(cfg.hidden, cfg.hidden)
            def forward(self, at):
                return self.out(self.ids(at))
        cfg = Config()
        left, right = Left(cfg)(torch.rand(6, 9)), Right(cfg)(torch.arange(6))
        nn.functional.cross_entropy(left @ right.T, torch.arange(6)).backward()
        """, "self.out = nn.Linear", "nn.Linear(cfg.hidden, cfg.embed)"),
    "bytes read as wider numbers behind a header": (
        """
        import torch
        raw = torch.arange(4 * 75, dtype=torch.uint8).view(4, 75)
        scale = torch.ones(1, requires_grad=True)
        body = raw[:, 11:]
        counts = body.view(torch.int16)
        (counts.float() * scale).sum().backward()
        """, "counts = body", "body.contiguous().view(torch.int16)", OPEN),
    "a mark of what is unsure, for a loss that is built elsewhere": (
        """
        import torch
        from torch import nn
        def criterion(kind):
            if kind == "ce":
                return nn.CrossEntropyLoss(weight=torch.ones(3))
            raise ValueError(kind)
        labels = torch.arange(4 * 25).view(4, 5, 5) % 3
        labels[:, 0] = 255
        loss = criterion("ce")
        loss(nn.Conv2d(1, 3, 1)(torch.rand(4, 1, 5, 5)), labels).backward()
        """, "nn.CrossEntropyLoss(", "ignore_index=255"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_number_that_is_known_is_read_where_it_is_meant(runner, name):
    assert_repaired(runner, *FAULTS[name])
