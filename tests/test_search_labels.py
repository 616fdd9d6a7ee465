"""Labels that are the numbers of something else: the head is not made as wide as the largest of them."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

CODES = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
    codes = [11, 52, 30] * 4
    labels = torch.tensor(codes)
    rows = TensorDataset(torch.rand(12, 3), labels)
    net = nn.Linear(3, len(set(codes)))
    for x, y in DataLoader(rows, batch_size=6):
        nn.functional.cross_entropy(net(x), y).backward()
    """


def test_a_head_is_not_made_as_wide_as_the_largest_code(runner: Runner) -> None:
    assert_never_offered(runner, CODES, "53")
