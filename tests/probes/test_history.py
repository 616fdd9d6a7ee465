"""The history of shapes: every new shape of what leads to the failing operand, by line, and nothing that is stale."""

from __future__ import annotations

import pytest

from explainer.replay.confine import sandbox

pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(sandbox.unavailable() is not None, reason="no sandbox here")

NET = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(3, 3, 3) for _ in range(2)])
        self.fc = nn.Linear(10, 2)

    def forward(self, x):
        aside = x.sum()
        for conv in self.convs:
            x = conv(x)
        h = x.flatten(1)
        return self.fc(h)

Net()(torch.rand(2, 3, 8, 8))
"""

ALONE = """\
import torch
x = torch.rand(2, 3)
for step in range(3):
    x = torch.cat([x, x])
    y = x @ torch.rand(4, 5)
"""


@pytest.fixture
def origin(runner):
    """The `from` of a program's diagnosis."""
    return lambda code: runner.run(code)["document"]["reports"][0]["diagnoses"][0]["from"]


def test_the_way_through_a_forward_is_told_line_by_line_with_a_loops_rounds(origin):
    told = (
        "Shapes on the way: line 10 x [2, 3, 8, 8], line 13 x [2, 3, 6, 6], line 13 x [2, 3, 4, 4], line 14 h [2, 48]."
    )
    assert told in origin(NET)


def test_what_does_not_lead_to_the_operand_is_left_out(origin):
    assert "aside" not in origin(NET)


def test_values_from_the_end_of_a_script_are_not_shown_as_those_of_its_beginning(origin):
    """At the top level statements run again on what the crash left: x is [4, 3] before line 4, not after it."""
    assert "line 3" not in origin(ALONE)


def test_a_plain_crash_without_a_way_says_nothing(origin):
    assert "Shapes on the way" not in origin("import torch\ntorch.rand(2, 3) @ torch.rand(4, 5)\n")


CACHED = """\
import torch
from torch import nn

class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.held = torch.zeros(0, 4)

    def forward(self, x, mask):
        q = x * 2
        self.held = keys = torch.cat([self.held, q])
        scores = q @ keys.t()
        return scores + mask

def answer(read, x):
    return read(x, torch.zeros(len(x), len(x)))

read = Reader()
for count in (6, 3):
    answer(read, torch.rand(count, 4))
"""


def test_what_a_cache_would_hold_twice_is_not_told(origin):
    """Run again, the function appends to what the crashed run has appended already: 12 keys where there were 9."""
    assert "[12, 4]" not in origin(CACHED)
