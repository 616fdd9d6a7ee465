"""The search where a bare `squeeze()` drops the batch dimension of a batch of one sample."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

POOLED = """
    import torch
    from torch import nn
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Conv2d(1, 6, 3)
            self.pool = nn.AdaptiveAvgPool2d(1)
            self.head = nn.Linear(6, 4)
        def forward(self, x):
            x = self.pool(self.body(x)).squeeze()
            return self.head(x)
    net = Net()
    for x in torch.rand(9, 1, 8, 8).split(4):
        LAST
    """
#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "a softmax over classes": (
        POOLED.replace("LAST", "print(net(x).softmax(dim=1).shape)"), "pool(self.body(x))", ".flatten(1)"),
    "a loss of one target": (
        POOLED.replace("LAST", "nn.functional.cross_entropy(net(x), torch.zeros(len(x), dtype=torch.long)).backward()"),
        "pool(self.body(x))", ".flatten(1)"),
    "a column of the scores": (
        POOLED.replace("LAST", "print(net(x)[:, 0].mean())"), "pool(self.body(x))", ".flatten(1)"),
    "a state of one layer": (
        """
        import torch
        from torch import nn
        rnn, head = nn.GRU(3, 6), nn.Linear(6, 4)
        def logits(x):
            _, state = rnn(x)
            return head(torch.squeeze(state))
        for x in torch.rand(7, 9, 3).split(4, dim=1):
            print(logits(x).argmax(dim=1).shape)
        """, "torch.squeeze(state)", "torch.squeeze(state, 0)"),
    "a length of scores": (
        """
        import torch
        from torch import nn
        head, count = nn.Linear(3, 1), 0
        for x in torch.rand(9, 3).split(4):
            scores = head(x).squeeze()
            count += len(scores)
        """, "scores = head(x)", "squeeze(-1)"),
    "weights that are scaled, in the first batch": (
        """
        import torch
        def scaled(scores):
            weights = scores.squeeze().exp()
            return weights / weights.sum(dim=1, keepdim=True)
        for x in (torch.rand(1, 5, 1), torch.rand(3, 5, 1)):
            print(scaled(x).shape)
        """, "scores.squeeze()", "squeeze(-1)"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_the_batch_is_kept(fault: str, runner: Runner) -> None:
    assert_repaired(runner, *FAULTS[fault])


def test_a_dimension_that_no_batch_has_is_not_looked_for_in_a_squeeze(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        head = nn.Linear(5, 1)
        for x in torch.rand(8, 5).split(4):
            print(head(x).squeeze().softmax(dim=1).shape)
        """
    assert_never_offered(runner, program, "squeeze(-1)")


def test_dimensions_that_a_squeeze_names_stay(runner: Runner) -> None:
    program = POOLED.replace("squeeze()", "squeeze((2, 3))").replace("LAST", "print(net(x).softmax(dim=2).shape)")
    assert_never_offered(runner, program, "flatten(1)")
