"""The search where indices and devices are wrong: small tables, masks of numbers, what an object keeps elsewhere."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "a mask of zeros and ones that came through a function": (
        """
        import torch
        def known(speeds):
            return (speeds > 0).float()
        def kept(speeds):
            mask = torch.stack([known(one) for one in speeds])
            return speeds[:, 0][mask[:, 0]].mean()
        print(kept(torch.rand(6, 3)))
        """, "(speeds > 0).float()", "return (speeds > 0)"),
    "a mask drawn before rows were left out": (
        """
        import torch
        def kept(rows):
            return rows[rows.sum(1) > 0]
        def prepared(count):
            rows = torch.ones(count, 3)
            rows[2] = 0
            chosen = torch.arange(len(rows)) % 2 == 0
            rows = kept(rows)
            return rows, chosen
        rows, chosen = prepared(8)
        print(rows[chosen].sum())
        """, "chosen = torch.arange", "chosen = torch.arange(len(rows)) % 2 == 0"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_the_line_to_edit_is_where_the_fault_is(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])
