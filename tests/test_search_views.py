"""The search where two views of each sample are compared in one matrix, and the targets count one view."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

MASKED = """
    import torch
    from torch import nn
    from torch.nn import functional as F
    def agreement(left, right, tau):
        joint = F.normalize(torch.cat((left, right)), dim=1)
        scores = torch.mm(joint, joint.T) / tau
        scores = scores - 1e9 * torch.eye(len(joint))
        count = left.shape[0]
        wanted = torch.arange(count)
        return F.cross_entropy(scores, wanted)
    encoder = nn.Linear(8, 4)
    x = torch.rand(16, 8)
    agreement(encoder(x), encoder(x + 0.1), 0.5).backward()
    """
APART = """
    import torch
    from torch import nn
    from torch.nn import functional as F
    def matched(images, words):
        both = torch.cat([images, words])
        scores = both @ both.T
        return F.cross_entropy(10 * scores, torch.arange(len(images)))
    one, other = nn.Linear(8, 4), nn.Linear(6, 4)
    matched(one(torch.rand(5, 8)), other(torch.rand(5, 6))).backward()
    """


def test_each_row_belongs_to_the_other_view(runner: Runner) -> None:
    repair = "torch.cat([torch.arange(count, 2 * count), torch.arange(count)])"
    assert_repaired(runner, MASKED, "wanted = torch.arange(count)", repair)


def test_the_views_are_compared_with_each_other_where_no_row_is_masked(runner: Runner) -> None:
    assert_repaired(runner, APART, "both @ both.T", "images @ words.T")


def test_labels_of_another_kind_are_no_views(runner: Runner) -> None:
    program = MASKED.replace("torch.arange(count)", "torch.randint(0, 4, (count,))")
    assert_never_offered(runner, program, "2 * count")
