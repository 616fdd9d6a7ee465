"""Which steps and evaluations are looked at closely: the first ones, then ever more rarely."""

from __future__ import annotations

#: How many are looked at in a row at the start.
FIRST = 4


def sampled(count: int) -> bool:
    """Whether the step after the `count`-th is looked at: the first ones, then ever more rarely."""
    return count <= FIRST or count & (count - 1) == 0
