"""The search where indices and devices are wrong: small tables, masks of numbers, what an object keeps elsewhere."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

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
    "classes computed by a division of floats": (
        """
        import torch
        from torch.nn import functional as F
        def band(heights):
            return heights // 10.0
        print(F.one_hot(band(torch.tensor([3.5, 12.0, 28.0])), num_classes=3).sum())
        """, "heights // 10.0", "(heights // 10.0).long()"),
    "parameters saved without the running statistics": (
        """
        from torch import nn
        def made():
            return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
        def kept(net):
            return {name: one.detach() for name, one in net.named_parameters()}
        made().load_state_dict(kept(made()))
        """, "in net.named_parameters()", "return net.state_dict()"),
    "a folder that is not there yet": (
        """
        import torch
        from torch import nn
        torch.save(nn.Linear(2, 2).state_dict(), "kept/best.pt")
        """, "torch.save", "os.makedirs(\"kept\", exist_ok=True)"),
    "a key of the checkpoint that was saved under another name": (
        """
        import torch
        from torch import nn
        torch.save({"net": nn.Linear(2, 2).state_dict(), "epoch": 1}, "kept.pt")
        nn.Linear(2, 2).load_state_dict(torch.load("kept.pt")["model"])
        """, "torch.load", "torch.load(\"kept.pt\")[\"net\"]"),
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


#: Program, what no fix may put there.
NEAR = {
    "positions that are no mask": (
        """
        import torch
        order = torch.rand(4).argsort().float()
        print(torch.rand(4, 2)[order])
        """, ".bool()"),
    "data that is just indexed too far": (
        """
        import torch
        rows = torch.rand(3, 2)
        for at in range(1, 4):
            print(rows[at].sum())
        """, "torch.rand(3 + 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_the_line_to_edit_is_where_the_fault_is(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])


@pytest.mark.parametrize("name", list(NEAR))
def test_a_repair_for_another_fault_is_not_offered(runner: Runner, name: str) -> None:
    assert_never_offered(runner, *NEAR[name])
