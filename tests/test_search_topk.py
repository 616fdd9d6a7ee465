"""The search where `topk` wants a fixed number of rows and some samples have fewer."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "the strongest points of each cloud": (
        """
        import torch
        import torch.nn.functional as F
        from torch import nn
        class Pick(nn.Module):
            def __init__(self, keep=6):
                super().__init__()
                self.keep, self.score, self.head = keep, nn.Linear(3, 1), nn.Linear(keep * 3, 2)
            def forward(self, points):
                score = self.score(points).squeeze(-1)
                _, best = torch.topk(score, self.keep)
                return self.head(points[best].flatten())
        net = Pick()
        for count in (8, 7, 5):
            net(torch.rand(count, 3)).sum().backward()
        """, "torch.topk(", "F.pad(points[best], (0, 0, 0, self.keep - len(best)))"),
    "the largest values as features": (
        """
        import torch
        from torch import nn
        head = nn.Linear(5, 1)
        def summary(values, most=5):
            top, _ = values.topk(most, dim=-1)
            return head(top)
        for width in (9, 4):
            summary(torch.rand(2, width)).sum().backward()
        """, "values.topk(", "top = nn.functional.pad(top, (0, most - top.shape[-1]))"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_fewer_rows_are_filled_up_to_the_number_wanted(fault: str, runner: Runner) -> None:
    assert_repaired(runner, *FAULTS[fault])


def test_rows_of_any_number_are_not_filled_up(runner: Runner) -> None:
    program = """
        import torch
        def best(boxes, scores, most=4):
            top, kept = scores.topk(most)
            return (boxes[kept] * top.unsqueeze(1)).mean(0)
        for count in (6, 3):
            best(torch.rand(count, 4), torch.rand(count))
        """
    assert_never_offered(runner, program, "pad(")
