"""The search where samples do not make a batch, and where checkpoints do not load."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "a dict inside the batch is not moved": (
        """
        import torch
        def move(batch, device):
            return {name: part.to(device) if torch.is_tensor(part) else part for name, part in batch.items()}
        batch = move({"x": torch.rand(4, 3), "wanted": {"y": torch.rand(4, 3)}, "id": "a"}, "meta")
        loss = (batch["x"] - batch["wanted"]["y"]).sum()
        """, "else part for name", "move(part, device) if isinstance(part, dict) else part"),
    "lists of numbers that differ in length": (
        """
        import torch
        from torch.utils.data import DataLoader
        rows = [([1, 2, 3], 0), ([4, 5], 1), ([6], 0), ([7, 8], 1)]
        table = torch.nn.Embedding(9, 2)
        for ids, kinds in DataLoader(rows, batch_size=2):
            table(ids).mean(1)
        """, "DataLoader(rows", "pad_sequence([torch.tensor(one)"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_the_line_to_edit_is_where_the_fault_is(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])
