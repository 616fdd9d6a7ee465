"""The search where a dtype does not fit: computed in floating point and given back as what it was."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "class ids are made smaller and have to stay class ids": (
        """
        import torch
        from torch import nn
        from torch.nn import functional as F
        def smaller(ids, like):
            return F.interpolate(ids[:, None], like.shape[2:], mode="nearest")[:, 0]
        scores = nn.Conv2d(1, 3, 2, stride=2)(torch.rand(2, 1, 8, 8))
        F.cross_entropy(scores, smaller(torch.randint(0, 3, (2, 8, 8)), scores)).backward()
        """, "F.interpolate(ids", 'F.interpolate(ids[:, None].float(), like.shape[2:], mode="nearest").long()[:, 0]'),
    "a mask that chooses goes through a layer": (
        """
        import torch
        from torch import nn
        widest = nn.MaxPool2d(3, stride=1, padding=1)
        hole, picture = torch.rand(1, 6, 6) > 0.8, torch.rand(1, 6, 6, requires_grad=True)
        torch.where(widest(hole), torch.zeros(1), picture).sum().backward()
        """, "torch.where(widest", "widest(hole.float()).bool()"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_what_must_stay_whole_is_given_back_as_it_came(fault: str, runner: Runner) -> None:
    assert_repaired(runner, *FAULTS[fault])


def test_a_result_with_fractions_is_not_cut_to_whole_numbers(runner: Runner) -> None:
    program = """
        import torch
        counts = torch.arange(6)
        print(counts.std().item())
        """
    assert_never_offered(runner, program, ".long()")
