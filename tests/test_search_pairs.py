"""The search where memory is short: pairs counted by ranks, sizes read in the wrong byte order, cells too small."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "the share of pairs in order, by their differences": (
        """
        import torch
        def concordance(high, low):
            gap = high[:, None] - low[None]
            return (gap >= 0).float().mean()
        assert 0.4 < concordance(torch.rand(900_000), torch.rand(900_000)) < 0.6
        """, "high[:, None] - low[None]", "torch.searchsorted(low.sort().values, high, right=True)"),
    "the number of pairs in order, compared at once": (
        """
        import torch
        def wins(ours, theirs):
            return (ours.unsqueeze(1) > theirs).sum()
        assert wins(torch.ones(900_000), torch.zeros(800_000)) == 900_000 * 800_000
        """, "ours.unsqueeze(1) > theirs", "torch.searchsorted(theirs.sort().values, ours).sum()"),
    "the points of all samples compared with each other": (
        """
        import torch
        def nearest(clouds, others):
            clouds = clouds.reshape(-1, 3)
            return torch.cdist(clouds, others.flatten(0, 1)).amin(-1).mean()
        clouds = torch.rand(30_000, 20, 3, requires_grad=True)
        nearest(clouds, torch.rand(30_000, 20, 3)).backward()
        """, "clouds = clouds.reshape(-1, 3)", "torch.cdist(clouds, others).amin"),
    "all rows given where a sample of them lies beside": (
        """
        import torch
        def spread(x):
            return torch.cdist(x, x).mean()
        class Cloud:
            def __init__(self, points):
                self.points = points
                self.few = points[torch.randperm(len(points))[:50]]
        cloud = Cloud(torch.rand(700_000, 2))
        assert spread(cloud.points) < 2 and len(cloud.few) == 50
        """, "spread(cloud.points)", "spread(cloud.few)"),
    "all rows given to the layer, a batch of them drawn for nothing": (
        """
        import torch
        from torch import nn
        layer, data, wanted = nn.Linear(3, 2), torch.rand(400_000, 3), torch.rand(400_000)
        rows = torch.randint(0, len(data), (32,))
        batch, near = data[rows], wanted[rows]
        z = layer(data)
        loss = ((z @ z.T).mean(1) * near).sum()
        loss.backward()
        """, "z = layer(data)", "layer(batch)"),
    "counts in a header of the other byte order": (
        """
        import struct
        import torch
        def pack(rows, columns):
            return struct.pack(">II", rows, columns)
        def table(head):
            rows, columns = struct.unpack("<II", head)
            return torch.zeros(rows, columns)
        assert table(pack(3, 5)).shape == (3, 5)
        """, '"<II"', '">II"'),
    "cells of a metre over a map in millimetres": (
        """
        import torch
        CELL = 0.5
        def covered(spots, cell):
            where = (spots / cell).floor().long()
            size = [int(one) + 1 for one in where.amax(0)]
            return torch.zeros(size)
        covered(torch.tensor([[90_000.0, 70_000.0, 60_000.0], [100.0, 300.0, 200.0]]), CELL)
        """, "CELL = 0.5", "500.0"),
}  # fmt: skip


#: Programs of which no pairs may be ranked.
NEAR = {
    "the differences themselves are wanted": (
        """
        import torch
        def spread(high, low):
            gap = high[:, None] - low[None]
            return gap.abs().mean()
        spread(torch.rand(900_000), torch.rand(900_000))
        """, "searchsorted"),
    "all pairs are meant, as both operands are written with a new dimension": (
        """
        import torch
        def nearest(points, centres):
            gap = points[:, None, :] - centres[None, :, :]
            return gap.square().sum(dim=2).argmin(dim=1)
        nearest(torch.rand(2_000_000, 16), torch.rand(2_000_000, 16))
        """, "squeeze"),
    "a table whose rows are a count": (
        """
        import torch
        HALF = 2
        def table(rows, width):
            return torch.zeros(int(rows), width // HALF)
        table(20_000_000_000, 64)
        """, "2000"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_the_line_to_edit_is_where_the_fault_is(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])


@pytest.mark.parametrize("name", list(NEAR))
def test_a_repair_for_another_fault_is_not_offered(runner: Runner, name: str) -> None:
    assert_never_offered(runner, *NEAR[name])


def test_other_data_of_the_same_width_is_no_sample_of_labels(runner: Runner) -> None:
    """Classes are no positions: rows of the data are picked by a name that picks rows elsewhere."""
    program = """
        import torch
        x, classes = torch.rand(500_000, 2), torch.randint(0, 3, (20,))
        assert torch.cdist(x, x).mean() > 0
        """
    assert_never_offered(runner, program, "x[classes]")
