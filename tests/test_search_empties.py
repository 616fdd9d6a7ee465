"""The search where a table is not what its indices count on: it has no rows, or they begin at another number."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check
from explainer.diagnosis import Edit, Span
from explainer.edits.candidate import Candidate
from explainer.edits.changes import cancels

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

FAULTS = {
    "a picture without boxes": (
        """
        import torch
        def areas(boxes):
            return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        every = [[[0.0, 0.0, 2.0, 3.0]], [], [[1.0, 1.0, 2.0, 2.0]]]
        for boxes in every:
            found = torch.tensor(boxes)
            assert areas(found).shape == (len(boxes),)
        """, "found = torch.tensor(boxes)", "torch.tensor(boxes).reshape(-1, 4)"),
    "a table of distances to both sides": (
        """
        import torch
        from torch import nn
        class Bias(nn.Module):
            def __init__(self, reach):
                super().__init__()
                self.reach = reach
                self.table = nn.Embedding(2 * reach + 1, 4)
            def forward(self, steps):
                at = torch.arange(steps)
                apart = (at[None] - at[:, None]).clamp(-self.reach, self.reach)
                return self.table(apart)
        Bias(3)(6).sum().backward()
        """, "self.table(apart)", "self.table(apart + self.reach)"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_the_line_to_edit_is_where_the_fault_is(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])


def test_a_table_that_has_no_middle_is_not_shifted_to(runner: Runner) -> None:
    """Ten rows have no row for zero with as many on both sides."""
    program = """
        import torch
        from torch import nn
        table = nn.Embedding(10, 4)
        table(torch.tensor([-2, 0, 3]))
        """
    assert_never_offered(runner, program, "+ 5")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("rel = a.unsqueeze(0) - a.unsqueeze(1)", "rel = a.unsqueeze(1) - a.unsqueeze(1)", True),
        ("    y = x / x.sum(0)", "    y = x / x", True),
        ("y = x - x", "y = x - x", False),
        ("y = x * w", "y = x * x", False),
        ("def f(x):", "def f(x, y):", False),
    ],
)
def test_edits_that_leave_nothing_of_a_difference_are_known(before: str, after: str, expected: bool) -> None:
    """They run, whatever the program was to compute."""
    edit = Edit("a.py", 1, 1, before, after)
    candidate = Candidate((edit,), "replace", "t", Span("a.py", 1))
    assert cancels(candidate) is expected
