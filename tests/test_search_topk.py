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
        """, "torch.topk(", "F.pad(points[best], (0, 0, 0, self.keep - len(best)))",
        "suggestion"),  # nothing trains `score`
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


CLASSES_FEWER_THAN_K = """
    import torch
    from torch import nn
    def accuracy(scores, labels, topk=(1,)):
        most = max(topk)
        best = scores.topk(most, 1).indices.t()
        right = best.eq(labels.view(1, -1).expand(5, -1)[:most])
        return [right[:k].any(0).float().mean() for k in topk]
    kinds = ["oak", "elm", "fir", "ash"]
    net = nn.Linear(6, len(kinds))
    for _ in range(2):
        found = accuracy(net(torch.rand(8, 6)), torch.arange(8) % 4, topk=(1, 5))
        assert found[1] >= found[0]
    """


def test_fewer_are_asked_for_than_there_are_classes(runner: Runner) -> None:
    program = CLASSES_FEWER_THAN_K.replace(".expand(5, -1)[:most]", ".expand(most, -1)")
    assert_repaired(runner, program, "topk=(1, 5)", "topk=(1, 3)")


def test_no_class_is_added_for_the_sake_of_k(runner: Runner) -> None:
    assert_never_offered(runner, CLASSES_FEWER_THAN_K, "len(kinds) + 1")
