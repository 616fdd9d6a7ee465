"""The search where pairs of real and imaginary part do not lie side by side, and several calls read them."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

TWICE = """
    import torch
    def paired(x):
        first, second = x.chunk(2, dim=-1)
        return torch.stack([first, second]).movedim(0, -1)
    def turned(q, k, phase):
        one = torch.view_as_complex(paired(q)) * phase
        other = torch.view_as_complex(paired(k)) * phase
        return torch.view_as_real(one).flatten(-2), torch.view_as_real(other).flatten(-2)
    print(turned(torch.rand(2, 6, 8), torch.rand(2, 6, 8), torch.polar(torch.ones(4), torch.rand(4)))[0].shape)
    """


def test_pairs_are_laid_together_where_all_of_them_are_made(runner: Runner) -> None:
    assert_repaired(runner, TWICE, "torch.stack([first, second])", ".movedim(0, -1).contiguous()")


def test_what_are_no_pairs_is_not_copied(runner: Runner) -> None:
    assert_never_offered(runner, TWICE.replace("movedim(0, -1)", "movedim(0, -2)"), "contiguous()")
