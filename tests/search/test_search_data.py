"""The search where memory, ids, checkpoints and batches are wrong: the line to edit and the repair for each fault."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "attention over the whole batch folded into one sequence": (
        """
        import torch
        from torch import nn
        class Mixer(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
            def forward(self, notes):
                flat = notes.flatten(0, 1)
                return torch.matmul(self.query(flat), self.key(flat).transpose(-2, -1)).softmax(-1)
        Mixer(4)(torch.rand(10_000, 30, 4))
        """, "notes.flatten(0, 1)", "flat = notes"),
    "an adjacency matrix of few entries, filled both ways": (
        """
        import torch
        def links(pairs, count):
            matrix = torch.zeros((count, count))
            matrix[pairs[0], pairs[1]] = 1.0
            matrix[pairs[1], pairs[0]] = 1.0
            return matrix
        links(torch.tensor([[0, 1, 2], [3, 4, 5]]), 300_000) @ torch.rand(300_000, 2)
        """, "torch.zeros((count, count))", "torch.sparse_coo_tensor(", "suggestion"),  # torch warns of its invariants
    "a product of all pairs of which the diagonal is kept": (
        """
        import torch
        def scores(users, items):
            return (users @ items.t()).diagonal()
        scores(torch.rand(300_000, 3), torch.rand(300_000, 3)).mean()
        """, "(users @ items.t()).diagonal()", "(users * items).sum(-1)"),
    "distances by the differences of all pairs": (
        """
        import torch
        def nearest(points, codes):
            gap = points.unsqueeze(1) - codes.unsqueeze(0)
            return gap.norm(dim=-1).argmin(1)
        nearest(torch.rand(60_000, 1024), torch.rand(400, 1024))
        """, "gap.norm(dim=-1)", "torch.cdist(points, codes)"),
    "times in milliseconds counted by bincount": (
        """
        import torch
        def per_minute(times):
            return torch.bincount(times)
        base = 1_600_000_000_000
        per_minute(torch.tensor([base + minute * 60_000 for minute in range(30) for _ in range(3)]))
        """, "torch.bincount(times)", "(times - times.min()) // 60_000"),
    "hashed ids give a table its size": (
        """
        import torch
        from torch import nn
        shops = torch.tensor([900_000_000_017, 900_000_000_403, 900_000_000_017])
        table = nn.Embedding(int(shops.max()) + 1, 8)
        table(shops).sum().backward()
        """, "shops = torch.tensor(", "torch.unique(torch.tensor("),
    "a size with a factor that stands beside it, too": (
        """
        import torch
        def store(clips, frames, side):
            return torch.zeros(clips * frames * side * side, frames, side, side)
        store(40, 32, 64).view(40, 32, 64, 64)
        """, "torch.zeros(", "torch.zeros(clips, frames, side, side)"),
    "two constants of the file on another device": (
        """
        import torch
        CENTRE, SPREAD = torch.tensor([0.5]), torch.tensor([0.2])
        LOW = torch.tensor([0.1])
        HIGH = torch.tensor([0.9])
        def squeezed(pixels):
            return (pixels - LOW) / (HIGH - LOW)
        squeezed(torch.rand(3, device="meta"))
        """, "(pixels - LOW) / (HIGH - LOW)", "pixels - LOW.to(pixels.device)"),
    "weights of classes where each sample needs one": (
        """
        import torch
        from torch.utils.data import WeightedRandomSampler
        kinds = torch.tensor([0, 1, 1, 2, 2, 2])
        rarity = 1.0 / torch.bincount(kinds)
        list(WeightedRandomSampler(rarity, len(kinds), replacement=False))
        """, "WeightedRandomSampler(rarity", "rarity[kinds]"),
    "pixels that are scaled in training and not in use": (
        """
        import numpy as np
        import torch
        from torch import nn
        net = nn.Conv2d(3, 2, 1)
        def learn(pixels):
            return net(torch.from_numpy(pixels).float() / 255).mean()
        def use(pixels):
            images = torch.from_numpy(pixels)
            return net(images)
        pixels = np.full((2, 3, 4, 4), 255, dtype=np.uint8)
        learn(pixels).backward()
        assert use(pixels).abs().max() < 20
        """, "torch.from_numpy(pixels)", ".float().div(255)"),
}  # fmt: skip

#: Programs in which the same signs mean something else, and what must not be put there.
NEAR = {
    "ids that nothing leaves out are not among the chosen ones": (
        """
        import torch
        def part(features, edges, nodes):
            return features[nodes], edges
        rows, links = part(torch.rand(9, 2), torch.tensor([[1, 7, 8], [7, 8, 2]]), torch.tensor([1, 7, 8]))
        rows[links[0]]
        """, "argmax"),
    "as many classes as all labels have, and a label beyond": (
        """
        import torch
        from torch import nn
        y = torch.tensor([0, 1, 2, 3])
        net = nn.Linear(2, int(y.max()) + 1)
        nn.functional.cross_entropy(net(torch.rand(2, 2)), torch.tensor([1, 4]))
        """, "int(torch"),
    "a negative id that is no mark of padding": (
        """
        import torch
        table = torch.nn.Embedding(6, 3)
        out = table(torch.tensor([3, 1]) - 2)
        """, "masked_fill"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_the_line_to_edit_is_where_the_fault_is(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])


@pytest.mark.parametrize("name", list(NEAR))
def test_a_repair_for_another_fault_is_not_offered(runner: Runner, name: str) -> None:
    assert_never_offered(runner, *NEAR[name])
