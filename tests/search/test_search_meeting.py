"""Sizes and layouts that have to meet: each mistake with the line to blame and its repair, all run for real."""

from __future__ import annotations

import pytest
from faults import OPEN, assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner

pytest.importorskip("torch")

FAULTS = {
    "rows of two sets, each with each": (
        """
        import torch
        from torch import nn
        def scores(x, centres):
            apart = (x - centres) / 0.5
            return -(apart ** 2).sum(-1)
        class Mixture(nn.Module):
            def __init__(self):
                super().__init__()
                self.centres, self.shares = nn.Parameter(torch.randn(3, 2)), nn.Parameter(torch.zeros(3))
            def forward(self, x):
                return (scores(x, self.centres) + self.shares.log_softmax(0)).logsumexp(1)
        net, data = Mixture(), torch.randn(40, 2)
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        (-net(data).mean()).backward()
        optimizer.step()
        """, "scores(x, self.centres)", "scores(x.unsqueeze(1), self.centres)"),
    "rows of a mask that was made before rows were left out": (
        """
        import torch
        from torch import nn
        rows = torch.arange(80.0).reshape(40, 2) / 80
        target = rows.sum(1)
        rows[torch.arange(0, 40, 5), 1] = float("nan")
        early = rows[:, 0] < 0.7
        known = ~rows.isnan().any(1)
        rows, target = rows[known], target[known]
        inside, wanted = rows[early], target[early]
        net = nn.Linear(2, 1)
        (net(inside)[:, 0] - wanted).square().mean().backward()
        """, "rows, target = rows[known]", "early = early[known]"),
    "weights of edges that come twice": (
        """
        import torch
        from torch import nn
        def both_ways(edges):
            return torch.cat([edges, edges.flip(0)], dim=1)
        class Layer(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(3, 3)
            def forward(self, x, edges, shares):
                sent = self.lin(x)[edges[0]] * shares[:, None]
                return torch.zeros_like(x).index_add(0, edges[1], sent)
        edges = torch.randint(0, 12, (2, 30))
        shares = torch.rand(30)
        edges = both_ways(edges)
        Layer()(torch.randn(12, 3), edges, shares).mean().backward()
        """, "edges = both_ways(edges)", "shares = torch.cat([shares, shares])"),
    "one-hot classes beside a map with its classes first": (
        """
        import torch
        from torch import nn
        from torch.nn import functional as F
        CLASSES = 5
        def overlap(scores, labels):
            shares = scores.softmax(dim=1)
            hot = F.one_hot(labels, CLASSES).float()
            met = (shares * hot).sum(dim=(0, 2, 3))
            return 1 - (2 * met / (shares.sum(dim=(0, 2, 3)) + hot.sum(dim=(0, 2, 3)))).mean()
        net = nn.Conv2d(3, CLASSES, 3, padding=1)
        overlap(net(torch.rand(6, 3, 8, 8)), torch.randint(CLASSES, (6, 8, 8))).backward()
        """, "F.one_hot", ".permute(0, 3, 1, 2)"),
    "a norm of the last dimension where channels come second": (
        """
        import torch
        from torch import nn
        def block(given, channels):
            return nn.Sequential(
                nn.Conv1d(given, channels, 3, padding=1),
                nn.LayerNorm(channels),
            )
        net = nn.Sequential(block(2, 8), block(8, 12))
        net(torch.rand(4, 2, 30)).mean().backward()
        """, "nn.LayerNorm", "nn.GroupNorm(1, channels)"),
    "results of batches that are stacked, of which the last is smaller": (
        """
        import torch
        from torch import nn
        net, rows, labels = nn.Linear(5, 3), torch.rand(11, 5), torch.arange(11) % 3
        made, meant = [], []
        for i in range(0, 11, 4):
            made.append(net(rows[i : i + 4]))
            meant.append(labels[i : i + 4])
        scores = torch.stack(made).flatten(0, 1)
        classes = torch.stack(meant).flatten()
        nn.functional.cross_entropy(scores, classes).backward()
        """, "torch.stack(made)", "torch.cat(meant)"),
    "a decoder that doubles what was halved with rounding": (
        """
        import torch
        from torch import nn
        LENGTH = 31
        net = nn.Sequential(
            nn.MaxPool1d(2), nn.MaxPool1d(2), nn.Conv1d(1, 4, 3, padding=1), nn.Upsample(scale_factor=2),
            nn.Upsample(scale_factor=2),
            nn.Conv1d(4, 1, 3, padding=1),
        )
        beats = torch.rand(6, 1, LENGTH)
        nn.functional.mse_loss(net(beats), beats).backward()
        """, "    nn.Upsample", "nn.Upsample(size=LENGTH)"),
    "a count by the largest number, of which data may lack the last ones": (
        """
        import torch
        from torch import nn
        def gathered(x, edges):
            source, target = edges
            count = int(edges.max()) + 1
            return x.new_zeros(count, x.size(1)).index_add_(0, target, x[source])
        net = nn.Linear(8, 3)
        x, edges = torch.rand(12, 4), torch.randint(0, 9, (2, 30))
        net(torch.cat([x, gathered(x, edges)], dim=1)).sum().backward()
        """, "int(edges.max())", "x.size(0)", OPEN),
    "class weights of the classes that were met": (
        """
        import torch
        from torch import nn
        KINDS = ("billing", "delivery", "returns", "praise", "other")
        def weights(labels):
            counts = torch.bincount(labels).float()
            return counts.sum() / counts.clamp(min=1)
        labels = torch.arange(40) % 4
        net, loss = nn.Linear(6, len(KINDS)), nn.CrossEntropyLoss(weight=weights(labels))
        loss(net(torch.rand(40, 6)), labels).backward()
        """, "torch.bincount", "minlength=len(KINDS)"),
    "positions that stand first beside batches that do": (
        """
        import torch
        from torch import nn
        class Positions(nn.Module):
            def __init__(self, width, steps):
                super().__init__()
                self.register_buffer("table", torch.rand(steps, 1, width))
            def forward(self, x):
                x = x + self.table[: x.size(0)]
                return x
        nn.Linear(8, 2)(Positions(8, 12)(torch.rand(20, 12, 8))).sum().backward()
        """, "self.table[:", "self.table[: x.size(1)].transpose(0, 1)"),
    "a convolution whose ends are not cut as those of the one before": (
        """
        import torch
        from torch import nn
        class Cut(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.size = size
            def forward(self, x):
                return x[..., : -self.size].contiguous()
        class Block(nn.Module):
            def __init__(self, width, kernel=3):
                super().__init__()
                pad = kernel - 1
                self.conv1 = nn.Conv1d(width, width, kernel, padding=pad)
                self.conv2 = nn.Conv1d(width, width, kernel, padding=pad)
                self.net = nn.Sequential(
                    self.conv1, Cut(pad), nn.ReLU(),
                    self.conv2, nn.ReLU())
            def forward(self, x):
                return self.net(x) + x
        Block(4)(torch.rand(5, 4, 12)).mean().backward()
        """, "self.conv2, nn.ReLU", "self.conv2, Cut(pad), nn.ReLU()"),
    "both directions of an encoder for a decoder of one": (
        """
        import torch
        from torch import nn
        class Pair(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.encoder = nn.GRU(4, width, bidirectional=True)
                self.decoder = nn.GRU(4, width)
            def forward(self, given, wanted):
                _, state = self.encoder(given)
                return self.decoder(wanted, state)[0]
        Pair(6)(torch.rand(7, 2, 4), torch.rand(5, 2, 4)).sum().backward()
        """, "self.decoder(wanted", "state = state.sum(0, keepdim=True)"),
    "patches of a map that is not square": (
        """
        import torch
        from torch import nn
        class Patches(nn.Module):
            def __init__(self, height, width, patch, dim):
                super().__init__()
                self.cut = nn.Conv2d(1, dim, patch, stride=patch)
                self.places = nn.Parameter(torch.zeros(1, (height // patch) ** 2, dim))
            def forward(self, x):
                return self.cut(x).flatten(2).transpose(1, 2) + self.places
        Patches(16, 48, 8, 10)(torch.rand(3, 1, 16, 48)).sum().backward()
        """, "self.places = ", "(height // patch) * (width // patch)"),
    "noise for a full batch beside the last one": (
        """
        import torch
        from torch import nn
        size, net, judge = 4, nn.Linear(2, 5), nn.Linear(5, 1)
        def between(real, made):
            share = torch.rand(real.size(0), 1)
            return judge(share * real + (1 - share) * made).mean()
        for real in torch.rand(10, 5).split(size):
            noise = torch.randn(size, 2)
            between(real, net(noise)).backward()
        """, "noise = ", "torch.randn(real.size(0), 2)"),
    "a norm of channels behind a layer that puts them last": (
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self, width=12):
                super().__init__()
                self.rnn = nn.GRU(3, width, batch_first=True)
                self.norm = nn.BatchNorm1d(width)
                self.out = nn.Linear(width, 1)
            def forward(self, x):
                h, _ = self.rnn(x)
                h = self.norm(h)
                return self.out(h)
        Net()(torch.rand(5, 7, 3)).mean().backward()
        """, "self.norm(h)", "self.norm(h.transpose(1, 2)).transpose(1, 2)"),
    "a row of transforms without the crop that the other one has": (
        """
        import torch
        from torch.utils.data import DataLoader, Dataset
        class Row:
            def __init__(self, *steps):
                self.steps = steps
            def __call__(self, image):
                for step in self.steps:
                    image = step(image)
                return image
        class Shrink:
            def __call__(self, image):
                return image[:, ::2, ::2]
        class Crop:
            def __init__(self, size):
                self.size = size
            def __call__(self, image):
                return image[:, : self.size, : self.size]
        class Flip:
            def __call__(self, image):
                return image.flip(2)
        class Photos(Dataset):
            def __init__(self, change):
                self.change = change
            def __len__(self):
                return 6
            def __getitem__(self, i):
                return self.change(torch.rand(3, 40 + 8 * (i % 2), 40))
        training = Row(Shrink(), Flip())
        testing = Row(Shrink(), Crop(20))
        for change in (testing, training):
            for images in DataLoader(Photos(change), batch_size=3):
                assert images.shape == (3, 3, 20, 20)
        """, "training = ", "Row(Shrink(), Crop(20), Flip())"),
    "a state of all beside data of the chosen": (
        """
        import torch
        from torch import nn
        cell = nn.LSTM(3, 6)
        def run(rows, marks, state):
            for x, mark in zip(rows, marks):
                kept = mark.view(1, -1, 1)
                made, state = cell(x.unsqueeze(0), (kept * state[0], kept * state[1]))
            return made
        rows, marks = torch.rand(5, 8, 3), torch.ones(5, 8)
        state = (torch.zeros(1, 8, 6), torch.zeros(1, 8, 6))
        for chosen in torch.randperm(8).chunk(2):
            run(rows[:, chosen], marks[:, chosen], state).sum().backward()
        """, "run(rows[:, chosen]", "tuple(one[:, chosen] for one in state)"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_the_line_where_sizes_came_to_differ_is_mended(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])


def test_labels_that_the_loss_ignores_are_left_out_of_what_counts_them(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        VOID = 255
        table = torch.zeros(4, 4, dtype=torch.long)
        def count(made, meant):
            made, meant = made.flatten(), meant.flatten()
            table.index_put_((meant, made), torch.ones_like(meant), accumulate=True)
        net, loss = nn.Conv2d(1, 4, 1), nn.CrossEntropyLoss(ignore_index=VOID)
        labels = torch.randint(4, (2, 5, 5))
        labels[:, 0] = VOID
        scores = net(torch.rand(2, 1, 5, 5))
        loss(scores, labels).backward()
        count(scores.argmax(1), labels)
        assert table.sum() == 40
        """
    assert_repaired(runner, program, "table.index_put_", "made[kept], meant[kept]")


def test_a_label_that_no_loss_ignores_is_not_left_out(runner: Runner) -> None:
    program = """
        import torch
        table = torch.zeros(4, 4, dtype=torch.long)
        def count(made, meant):
            table.index_put_((meant, made), torch.ones_like(meant), accumulate=True)
        count(torch.arange(5) % 4, torch.arange(5))
        """
    assert_never_offered(runner, program, "kept")


def test_rows_that_are_to_meet_in_pairs_are_not_set_against_all_others(runner: Runner) -> None:
    program = """
        import torch
        def error(made, meant):
            return ((made - meant) ** 2).sum(-1).mean()
        made, meant = torch.randn(12, 2, requires_grad=True), torch.randn(12, 2)
        error(made[:-1], meant).backward()
        """
    assert_never_offered(runner, program, "unsqueeze")


def test_what_does_not_go_with_rows_that_were_filtered_is_not_filtered_along(runner: Runner) -> None:
    program = """
        import torch
        rows, other = torch.arange(80.0).reshape(40, 2), torch.rand(40)
        known = rows[:, 0] > 20
        rows = rows[known]
        (rows @ other[:3].requires_grad_()).sum().backward()
        """
    assert_never_offered(runner, program, "[known]; other")
    assert_never_offered(runner, program, "other = other[known]")
