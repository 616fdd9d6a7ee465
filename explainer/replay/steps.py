"""Steps of a recording: one torch call each, and those that led to another."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

_MOST_STEPS = 80


@dataclass(eq=False)
class Step:
    """One torch call: where the user's code made it (innermost frame first), what went in, what came out."""

    function: str
    stack: list[Any]
    inputs: list[Any] = field(default_factory=list)
    before: list[Any] = field(default_factory=list)
    numbers: list[Any] = field(default_factory=list)
    out: list[Any] = field(default_factory=list)
    module: Any = None
    depth: int = 0
    extents: list[Any] = field(default_factory=list)
    devices: list[str] = field(default_factory=list)
    lies: str = ""


def led_to(crash: Step) -> list[Step]:
    """The failing step and those that led to it, breadth first."""
    steps, seen, alike = [crash], {id(crash)}, set()
    for step in steps:
        for source in [*step.inputs, *(one for tree in step.numbers for one in _sized(tree))]:
            if source is None or id(source) in seen or len(steps) >= _MOST_STEPS:
                continue
            seen.add(id(source))
            like = (source.function, str(source.stack[:1]), str(source.out[:1]))
            if like not in alike:  # the samples of a batch all came the same way
                alike.add(like)
                steps.append(source)
    return steps


def _sized(tree: list[Any]) -> list[Any]:
    """The steps whose results' sizes a number was computed from."""
    if tree[0] == "op":
        return _sized(tree[2]) + _sized(tree[3])
    return [tree[1]] if tree[0] == "size" else []
