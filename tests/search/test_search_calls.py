"""The search where a call is written otherwise than torch wants it: the line to edit and the repair for each fault."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "a parameter that is given another's value, while the caller has one of its own name": (
        """
        import torch
        from torch import nn
        class Forward(nn.Module):
            def __init__(self, dim, inner, dropout=0.0):
                super().__init__()
                self.net = nn.Sequential(nn.Linear(dim, inner), nn.Dropout(dropout), nn.Linear(inner, dim))
            def forward(self, x):
                return self.net(x)
        def blocks(depth, dim, inner, dropout):
            return nn.Sequential(*[Forward(dim, inner, inner) for _ in range(depth)])
        blocks(2, 6, 12, 0.1)(torch.rand(3, 6)).sum().backward()
        """, "Forward(dim, inner, inner)", "Forward(dim, inner, dropout)"),
    "a method of a model that is not called": (
        """
        import torch
        body = torch.nn.Linear(3, 2)
        steps = torch.optim.RMSprop(body.parameters, lr=0.01)
        """, "RMSprop(", "body.parameters()"),
    "a loss that is given tensors when it is made": (
        """
        import torch
        def measure(found, wanted):
            return torch.nn.L1Loss(found, wanted)
        measure(torch.rand(4, requires_grad=True), torch.rand(4)).backward()
        """, "L1Loss(", "L1Loss()(found, wanted)"),
    "tensors stacked one by one": (
        """
        import torch
        low, high = torch.rand(3), torch.rand(3)
        both = torch.stack(low, high, dim=1)
        """, "torch.stack(", "torch.stack((low, high), dim=1)"),
    "a function among the layers of a Sequential": (
        """
        import torch
        from torch import nn
        def block(size):
            return nn.Sequential(nn.Linear(size, size), torch.tanh, nn.LayerNorm(size))
        block(4)(torch.rand(2, 4)).sum().backward()
        """, "torch.tanh", "nn.Tanh()"),
    "a loader asked for its first batch by number": (
        """
        import torch
        from torch.utils.data import DataLoader
        rows = DataLoader(torch.rand(6, 3), batch_size=2)
        print(rows[0].shape)
        """, "rows[0]", "next(iter(rows))"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_the_line_to_edit_is_where_the_fault_is(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])
