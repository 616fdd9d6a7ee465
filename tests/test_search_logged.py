"""The search where counts are taken for logarithms and their exponentials ask for more memory than there is."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

STRETCHED = """
        import torch
        from torch import nn
        class Stretch(nn.Module):
            def forward(self, x, lasting):
                counts = torch.expm1(lasting.float()).round().long()
                return torch.cat([one.repeat_interleave(n, dim=0) for one, n in zip(x, counts)])
        class Voice(nn.Module):
            def __init__(self):
                super().__init__()
                self.stretch, self.out = Stretch(), nn.Linear(4, 2)
            def forward(self, x, lasting):
                return self.out(self.stretch(x, lasting))
        voice, counts = Voice(), {counts}
        voice(torch.rand(2, 3, 4), counts).sum().backward()
        """


def test_the_logarithm_of_the_counts_is_given(runner: Runner) -> None:
    program = STRETCHED.format(counts="torch.tensor([[30, 31, 33], [32, 30, 35]])").replace(
        "lasting.float()", "lasting"
    )
    program = program.replace("expm1(lasting)", "expm1(lasting.float())")
    assert_repaired(runner, program, "voice(torch.rand", "torch.log1p(counts.float())")


def test_numbers_with_a_fraction_are_no_counts(runner: Runner) -> None:
    program = STRETCHED.format(counts="torch.tensor([[30.5, 31, 33], [32, 30, 35]])")
    assert_never_offered(runner, program, "torch.log1p(")
