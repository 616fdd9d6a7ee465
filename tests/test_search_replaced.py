"""The search where a layer was put in another's place after the model was built, and its norm was not."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

_NET = """
    import torch
    from torch import nn
    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.up = nn.Linear(10, width)
            self.norm = nn.LayerNorm(width)
        def forward(self, x):
            return self.norm(self.up(x))
    def thinner(layer, kept):
        small = nn.Linear(layer.in_features, len(kept))
        small.weight = nn.Parameter(layer.weight.detach()[kept].clone())
        return small
    block = Block(16)
    block.up = REPLACED
    block(torch.rand(4, 10)).sum().backward()
    """
THINNER = _NET.replace("REPLACED", "thinner(block.up, block.up.weight.abs().sum(1).topk(12).indices)")
#: The width is a plain number where the layer is replaced: it is that number that may be wrong.
WRITTEN = _NET.replace("REPLACED", "nn.Linear(10, 12)")


def test_the_norm_behind_a_replaced_layer_is_replaced_too(runner: Runner) -> None:
    assert_repaired(runner, THINNER, "block.up = thinner", "block.norm = nn.LayerNorm(block.up.out_features)")


def test_a_width_that_is_written_is_changed_itself(runner: Runner) -> None:
    assert_never_offered(runner, WRITTEN, "block.norm =")
