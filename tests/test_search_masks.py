"""The search where a mask of padding is given as one of pairs of positions, and layers that are given `**kwargs`."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

_NET = """
    import torch
    from torch import nn
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
    ids = torch.randint(1, 9, (5, 7))
    ids[:, 5:] = 0
    MASK
    encoder(torch.rand(5, 7, 8), GIVEN).sum().backward()
    """
PADDING = _NET.replace("MASK", "empty = ids == 0").replace("GIVEN", "empty")
KEPT = _NET.replace("MASK", "real = ids != 0").replace("GIVEN", "mask=real")
#: A mask of numbers that is added: it does not say what is padding.
ADDED = _NET.replace("MASK", "weights = torch.rand(5, 7)").replace("GIVEN", "weights")
#: The padding of a convolution is handed on by the block that makes it.
BRANCHES = """
    import torch
    from torch import nn
    class Unit(nn.Module):
        def __init__(self, a, b, **more):
            super().__init__()
            self.conv = nn.Conv2d(a, b, bias=False, **more)
        def forward(self, x):
            return self.conv(x).relu()
    near = Unit(3, 4, kernel_size=3, padding=1)
    wide = Unit(3, 4, kernel_size=7)
    x = torch.rand(2, 3, 20, 20)
    torch.cat([near(x), wide(x)], dim=1).sum().backward()
    """


def test_a_mask_of_padding_goes_where_padding_is_told(runner: Runner) -> None:
    assert_repaired(runner, PADDING, "encoder(torch.rand", "src_key_padding_mask=empty")
    assert_repaired(runner, KEPT, "encoder(torch.rand", "src_key_padding_mask=~real")


def test_weights_are_no_mask_of_padding(runner: Runner) -> None:
    assert_never_offered(runner, ADDED, "padding_mask")


def test_a_convolution_is_padded_where_its_block_is_made(runner: Runner) -> None:
    assert_repaired(runner, BRANCHES, "wide = Unit", "kernel_size=7, padding=3")
