"""The search where memory is short: pairs counted by ranks, sizes read in the wrong byte order, cells too small."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "the points of all samples compared with each other": (
        """
        import torch
        def nearest(clouds, others):
            clouds = clouds.reshape(-1, 3)
            return torch.cdist(clouds, others.flatten(0, 1)).amin(-1).mean()
        clouds = torch.rand(30_000, 20, 3, requires_grad=True)
        nearest(clouds, torch.rand(30_000, 20, 3)).backward()
        """, "clouds = clouds.reshape(-1, 3)", "torch.cdist(clouds, others).amin"),
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
