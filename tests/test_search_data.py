"""The search where memory, ids, checkpoints and batches are wrong: the line to edit and the repair for each fault."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
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
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_the_line_to_edit_is_where_the_fault_is(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])


@pytest.mark.parametrize("name", list(NEAR))
def test_a_repair_for_another_fault_is_not_offered(runner: Runner, name: str) -> None:
    assert_never_offered(runner, *NEAR[name])
