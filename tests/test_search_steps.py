"""The search where a schedule of rates is over too early: the count, the loop, the call that makes a step too many."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

START = """
        import torch
        from torch.optim.lr_scheduler import OneCycleLR
        rows = torch.rand(11, 3)
        loader = torch.utils.data.DataLoader(rows, batch_size=4)
        net = torch.nn.Linear(3, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
"""
LOOP = """
        for epoch in range(EPOCHS):
            for x in loader:
                net(x).mean().backward()
                optimizer.step()
                rates.step()
"""
#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "batches counted without the last, smaller one": (
        START
        + """
        EPOCHS = 3
        per_epoch = len(rows) // 4
        rates = OneCycleLR(optimizer, max_lr=0.1, steps_per_epoch=per_epoch, epochs=EPOCHS)
        """
        + LOOP,
        "len(rows) // 4",
        "math.ceil(len(rows) / 4)",
    ),
    "a schedule for fewer epochs than the loop has": (
        START
        + """
        EPOCHS = 3
        rates = OneCycleLR(optimizer, max_lr=0.1, steps_per_epoch=len(loader), epochs=2)
        """
        + LOOP,
        "epochs=2",
        "epochs=EPOCHS",
    ),
    "one more step after each epoch": (
        START
        + """
        rates = OneCycleLR(optimizer, max_lr=0.1, steps_per_epoch=len(loader), epochs=2)
        for epoch in range(2):
            for x in loader:
                net(x).mean().backward()
                optimizer.step()
                rates.step()
            torch.manual_seed(epoch)
            rates.step()
        """,
        "    rates.step()",
        "",
    ),
    "gradients gathered over two batches": (
        START
        + """
        rates = OneCycleLR(optimizer, max_lr=0.1, total_steps=2)
        for number, x in enumerate(loader):
            net(x).mean().backward()
            if number % 2:
                optimizer.step()
                optimizer.zero_grad()
            rates.step()
        """,
        "rates.step()",
        "        rates.step()",
    ),
}


@pytest.mark.parametrize("name", list(FAULTS))
def test_the_line_to_edit_is_where_the_fault_is(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])


def test_a_step_for_each_batch_that_was_planned_so_is_not_moved_behind_the_loop(runner: Runner) -> None:
    assert_never_offered(runner, FAULTS["a schedule for fewer epochs than the loop has"][0], "    rates.step()")
