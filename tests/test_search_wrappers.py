"""The search where a wrapper joins what the wrapped object gives and has the size of that object alone."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

_WORLD = """
    import numpy as np
    import torch
    class Track:
        width = 4
        actions = 3
        def reset(self):
            return np.zeros(4, dtype=np.float32)
    class Around:
        def __init__(self, inner, count=2):
            self.inner, self.seen = inner, [count]
        def __getattr__(self, name):
            return getattr(self.inner, name)
        def reset(self):
            RESET
    class Below(Track):
        def __init__(self, count=2):
            self.seen = [count]
        def reset(self):
            RESET
    world = MADE
    net = torch.nn.Linear(world.width, 3)
    net(torch.from_numpy(world.reset())).sum().backward()
    """
STACKED = _WORLD.replace("RESET", "return np.concatenate([Track.reset(self)] * 5)")
WITH_ACTION = _WORLD.replace("RESET", "return np.append(self.inner.reset(), np.zeros(self.actions, dtype=np.float32))")
#: The wrapper keeps what it saw, and the width that the object tells is wrong.
KEPT = _WORLD.replace("RESET", "self.seen.append(0); return self.inner.reset()").replace("width = 4", "width = 3")


def test_a_wrapper_gets_the_size_of_all_that_it_joins(runner: Runner) -> None:
    around = STACKED.replace("MADE", "Around(Track(), count=5)")
    assert_repaired(runner, around, "self.inner, self.seen", "self.width = count * self.inner.width")
    more = WITH_ACTION.replace("MADE", "Around(Track())")
    assert_repaired(runner, more, "self.inner, self.seen", "self.width = self.inner.width + self.inner.actions")


def test_a_subclass_gets_the_size_of_all_that_it_joins(runner: Runner) -> None:
    assert_repaired(runner, STACKED.replace("MADE", "Below(5)"), "self.seen = [count]", "count * self.width")


def test_a_wrapper_that_joins_nothing_has_the_size_of_what_it_wraps(runner: Runner) -> None:
    assert_never_offered(runner, KEPT.replace("MADE", "Around(Track())"), "self.width =")
