"""The search where attention is put at a level, or over patches, of more positions than memory has pairs for."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

_LOOK = """
        import torch
        from torch import nn
        class Look(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.qk = nn.Conv2d(width, 2 * width, 1)
            def forward(self, x):
                q, k = self.qk(x).flatten(2).chunk(2, 1)
                return x + (x.flatten(2) @ (q.transpose(1, 2) @ k).softmax(1)).view_as(x)
"""
_NET = """
        class Net(nn.Module):
            def __init__(self, {given}):
                super().__init__()
                self.parts, side = nn.ModuleList(), 600
                for {loop}:
                    self.parts.append(nn.Conv2d(2, 2, 5, 5))
                    if {test}:
                        self.parts.append(Look(2))
                    side //= 5
            def forward(self, x):
                for part in self.parts:
                    x = part(x)
                return x
        net = Net()
        net(torch.rand(1, 2, 3000, 3000)).sum().backward()
        assert any(isinstance(part, Look) for part in net.parts)
"""


def _net(given: str, loop: str, test: str) -> str:
    return _LOOK + _NET.format(given=given, loop=loop, test=test)


#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "levels by number": (_net("at=(0,)", "level in range(3)", "level in at"), "at=(0,)", "at=(2,)"),
    "levels by number, one of them coarse": (
        _net("at=[0, 2]", "level in range(3)", "level in at"), "at=[0, 2]", "at=[2]"),
    "levels by the side of their maps": (_net("sides={600}", "_ in range(3)", "side in sides"), "{600}", "{24}"),
    "levels from one on": (_net("since=0", "i in range(3)", "i >= since"), "since=0", "since=2"),
    "a flag for each level": (
        _net("flags=(True, False, False)", "flag in flags", "flag"), "(True, False, False)", "(False, False, True)"),
    "patches of one pixel": (
        _LOOK + """
        class Patches(nn.Module):
            def __init__(self, patch=1):
                super().__init__()
                self.cut, self.look = nn.Conv2d(3, 2, patch, stride=patch), Look(2)
            def forward(self, x):
                return self.look(self.cut(x))
        Patches()(torch.rand(1, 3, 640, 640)).sum().backward()
        """, "patch=1", "patch=16"),
    "windows that move by one sample": (
        """
        import torch
        from torch import nn
        def look(wave, length=256, hop=1):
            x = nn.Linear(length, 2)(wave.unfold(1, length, hop))
            return (x @ x.transpose(1, 2)).softmax(-1) @ x
        look(torch.rand(1, 400_000)).sum().backward()
        """, "hop=1", "hop=128"),
    "room for more rows than there is memory": (
        """
        import torch
        def store(rows, shape):
            return torch.zeros(rows, *shape)
        kept = store(500_000_000, (3, 32, 32))
        kept[3] = torch.rand(3, 32, 32)
        """, "store(500_000_000", "store(50_000,"),
    "the layer is given a size for its factor": (
        """
        import torch
        from torch import nn
        net = nn.Sequential(nn.Conv2d(1, 32, 3), nn.Upsample(scale_factor=256), nn.Conv2d(32, 1, 1))
        net(torch.rand(8, 1, 34, 34)).sum().backward()
        """, "nn.Upsample", "nn.Upsample(size=256)"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_the_setting_is_blamed_and_repaired(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])


def test_a_layer_is_not_left_out(runner: Runner) -> None:
    """A level that no pass of the loop reaches would run without the layer: that is no repair."""
    assert_never_offered(runner, _net("at=(2,)", "level in range(1, 3)", "level - 1 in at or level == 1"), "at=(3,)")
