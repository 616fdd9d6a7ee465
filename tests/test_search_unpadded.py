"""The search where the arithmetic of a map's size leaves out the padding that the layers have."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

NET = """
        import torch
        from torch import nn
        LAYERS = [(4, 3, 2, 1), (6, 3, 1, 1)]
        def after(side, kernel, stride):
            return (side - kernel) // stride + 1
        def features(side, layers):
            for width, kernel, stride, padding in layers:
                side = {size}
            return width * side * side
        class Net(nn.Sequential):
            def __init__(self, side, channels=3):
                parts = []
                for width, kernel, stride, padding in LAYERS:
                    parts += [nn.Conv2d(channels, width, kernel, stride, padding), nn.ReLU()]
                    channels = width
                super().__init__(*parts, nn.Flatten(), nn.Linear(features(side, LAYERS){more}, 5))
        Net(16)(torch.rand(2, 3, 16, 16)).sum().backward()
        """
SIZES = {
    "after(side, kernel, stride)": "after(side + 2 * padding, kernel, stride)",
    "(side - kernel) // stride + 1": "((side + 2 * padding) - kernel) // stride + 1",
}


@pytest.mark.parametrize("size", SIZES)
def test_the_padding_is_counted(size: str, runner: Runner) -> None:
    assert_repaired(runner, NET.format(size=size, more=""), "side = ", SIZES[size])


def test_a_padding_that_is_read_is_not_counted_twice(runner: Runner) -> None:
    program = NET.format(size="after(side + 2 * padding, kernel, stride)", more=" + 1")
    assert_never_offered(runner, program, "2 * padding + 2 * padding")
