"""The search where something is counted wrongly: loops from one, bytes of a header; layers left behind."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "a batch is a quarter of the data": (
        """
        import torch
        from torch.utils.data import DataLoader
        data = torch.rand(32, 2)
        print(next(iter(DataLoader(data, batch_size=len(data) / 4))).shape)
        """, "DataLoader(data", "len(data) // 4"),
    "a helper makes the loss, and where it is called there is a device": (
        """
        import torch
        from torch import nn
        def cost(shares):
            return nn.CrossEntropyLoss(weight=1 / shares)
        def fit(device):
            model, measure = nn.Linear(4, 3).to(device), cost(torch.tensor([0.2, 0.5, 0.3]))
            measure(model(torch.rand(6, 4, device=device)), torch.zeros(6, dtype=torch.long, device=device)).backward()
        fit(torch.device("meta"))
        """, "cost(torch.tensor", "cost(torch.tensor([0.2, 0.5, 0.3])).to(device)"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_what_was_counted_wrongly_is_counted_right(fault: str, runner: Runner) -> None:
    assert_repaired(runner, *FAULTS[fault])
