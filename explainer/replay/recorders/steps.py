"""Steps of a recording: one torch call each, and those that led to another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_MOST_STEPS = 80


@dataclass(eq=False)
class Step:
    """One torch call: where the user's code made it (innermost frame first), what went in, what came out.

    `module` is the layer of torch's own in which it was made, `owner` the id of the program's own layer. `alike` is the
    listed step of the same call and shape that stands for it. `greatest` is that of the few numbers that came out.
    """

    function: str
    stack: list[Any]
    inputs: list[Any] = field(default_factory=list)
    before: list[Any] = field(default_factory=list)
    numbers: list[Any] = field(default_factory=list)
    out: list[Any] = field(default_factory=list)
    module: Any = None
    owner: int = 0
    depth: int = 0
    extents: list[Any] = field(default_factory=list)
    greatest: int | None = None
    devices: list[str] = field(default_factory=list)
    lies: str = ""
    repeats: bool = False
    alike: Step | None = None


def led_to(crash: Step) -> list[Step]:
    """The failing step and those that led to it, breadth first.

    The samples of a batch all came the same way: one of them is listed. What another layer or pass of a loop did in the
    same way is left out too, but not what led to it.
    """
    steps, queue, seen = [crash], [crash], {id(crash)}
    alike: dict[Any, Step] = {}
    for step in queue:
        for source in [*step.inputs, *(one for tree in step.numbers for one in _sized(tree))]:
            if source is None or id(source) in seen or len(steps) >= _MOST_STEPS:
                continue
            seen.add(id(source))
            first = alike.setdefault((source.function, str(source.stack[:1]), str(source.out[:1])), source)
            source.alike = first if first is not source else None
            source.repeats = first is not source and first.depth != source.depth
            if first is source:
                steps.append(source)
            if first is source or source.repeats:
                queue.append(source)
    return steps


def listed(step: Step | None, number: Mapping[int, int], below: int) -> int | None:
    """The number of a step, of the one that stands for it, or of the nearest that led to it where it repeats another.

    The one that stands for it must lie `below` a depth, else a loop's state would have led to itself.
    """
    if step is not None and step.alike is not None and step.alike.depth < below:
        return number.get(id(step.alike))
    while step is not None and step.repeats:
        step = next((one for one in step.inputs if one is not None), None)
    return number.get(id(step))


def _sized(tree: list[Any]) -> list[Any]:
    """The steps whose results' sizes a number was computed from."""
    if tree[0] == "op":
        return _sized(tree[2]) + _sized(tree[3])
    return [tree[1]] if tree[0] == "size" else []
