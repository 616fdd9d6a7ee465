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
