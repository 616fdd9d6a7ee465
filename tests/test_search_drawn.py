"""The search where samples differ in length, since fewer are left to draw than were asked for."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

_PAIRS = """
        import random
        import torch
        from torch.utils.data import DataLoader, Dataset
        class Pairs(Dataset):
            def __init__(self, pools, count):
                self.pools, self.count = pools, count
                self.rng = random.Random(0)
            def __len__(self):
                return len(self.pools)
            def others(self, pool):
                DRAWN
            def __getitem__(self, i):
                return i, [i, *self.others(list(self.pools[i]))]
        for anchor, others in DataLoader(Pairs([range(9), range(3), range(5)], 4), batch_size=3):
            print(torch.stack(others, 1).float().mean())
"""
FAULTS = {
    "the first of a shuffled list": (
        "self.rng.shuffle(pool); return pool[:self.count]", "(pool * self.count)[:self.count]",
    ),
    "as many as there are": (
        "return self.rng.sample(pool, min(self.count, len(pool)))",
        "(self.rng.sample(pool, min(self.count, len(pool))) * self.count)[:self.count]",
    ),
    "the first of what was drawn": (
        "drawn = self.rng.sample(pool, len(pool)); return drawn[:self.count + 1]",
        "(drawn * (self.count + 1))[:self.count + 1]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_what_was_drawn_is_filled_up(runner: Runner, name: str) -> None:
    drawn, new = FAULTS[name]
    assert_repaired(runner, _PAIRS.replace("DRAWN", drawn.replace("; ", "\n" + 16 * " ")), "self.count", new)


def test_what_stands_in_order_is_not_repeated(runner: Runner) -> None:
    assert_never_offered(runner, _PAIRS.replace("DRAWN", "return pool[:self.count]"), "pool * ")
