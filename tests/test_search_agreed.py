"""The search where two parts of a model take one size from different settings."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

_NET = """
    import torch
    from torch import nn
    class Taper(nn.Module):
        def __init__(self, cfg):
            super().__init__()
            length = cfg["rate"] // cfg["frames"]
            self.register_buffer("curve", torch.linspace(0, 1, length))
        def forward(self, x):
            return x * self.curve
    class Front(nn.Module):
        def __init__(self, cfg):
            super().__init__()
            self.length = WIDTH
            self.taper = Taper(cfg)
        def forward(self, wave):
            return self.taper(wave[..., :self.length]).sum(-1)
    Front({"rate": 800, "frames": 20, "frame_length": 32})(torch.rand(4, 800, requires_grad=True)).sum().backward()
    """
SETTING = _NET.replace("WIDTH", 'cfg["frame_length"]')
#: The other part reads no setting: there is nothing to agree on.
NUMBER = _NET.replace("WIDTH", "32")


def test_both_parts_take_the_size_from_one_setting(runner: Runner) -> None:
    assert_repaired(runner, SETTING, "length = cfg", 'length = cfg["frame_length"]')


def test_a_number_is_no_setting(runner: Runner) -> None:
    assert_never_offered(runner, NUMBER, "frame_length")
