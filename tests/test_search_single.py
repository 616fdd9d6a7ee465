"""The search where a model gets one sample in place of a batch."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

_NET = """
    import torch
    from torch import nn
    class Scorer(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(2, 6, 3, stride=2), nn.ReLU())
            self.head = nn.Linear(READ, 5)
        def forward(self, x):
            return self.head(self.body(x).flatten(1))
    def best(net, board):
        with torch.no_grad():
            return net(board).argmax().item()
    best(Scorer(), torch.rand(2, 9, 9))
    """
ONE = _NET.replace("READ", "6 * 4 * 4")
#: The layer reads another size than that of the sample's maps: no batch is missing.
OTHER = _NET.replace("READ", "6 * 5 * 5")


def test_one_sample_is_handed_over_as_a_batch(runner: Runner) -> None:
    assert_repaired(runner, ONE, "return net(board)", "net(board.unsqueeze(0))")


def test_maps_of_another_size_are_no_sample(runner: Runner) -> None:
    assert_never_offered(runner, OTHER, "board.unsqueeze(0)")
