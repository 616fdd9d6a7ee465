"""What a call usually makes at its place: one that makes something else of the same kinds of operands stands out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from explainer.replay.recorders.steps import Step

#: How often a call was made at a place at least before another result is said to be unusual.
_OFTEN = 2
#: Of how many results the shapes are kept.
_FIRST = 8


@dataclass(eq=False)
class _Kind:
    """Results of one rank and dtype, empty or not: how many, the last shape, sizes behind the first that all had.

    `first` are the shapes of the first few.
    """

    times: int = 0
    shape: list[int] = field(default_factory=list)
    behind: list[int] | None = None
    first: list[list[int]] = field(default_factory=list)

    def note(self, shape: list[int]) -> None:
        self.behind = shape[1:] if not self.times or self.behind == shape[1:] else None
        self.times, self.shape = self.times + 1, shape
        if len(self.first) < _FIRST:
            self.first.append(shape)


class Usual:
    """Results by place and by the kinds of the operands."""

    def __init__(self) -> None:
        self.places: dict[Any, dict[Any, _Kind]] = {}

    def note(self, step: Step) -> None:
        """Count a call that was made."""
        if step.out and step.stack:
            kinds = self.places.setdefault(_called(step), {})
            kinds.setdefault(_kind(step.out[0]), _Kind()).note(step.out[0][0])

    def unlike(self, step: Step) -> list[Any] | None:
        """How often the call usually made another kind of result here, its shape, and the sizes that all of them had.

        Then the shapes of the first of these. None where this is the usual kind, or there is none.
        """
        kinds = self.places.get(_called(step), {}) if step.out and step.stack else {}
        own = kinds.get(_kind(step.out[0])) if kinds else None
        most = max(kinds.values(), key=lambda one: one.times, default=None)
        if own is None or most is None or most is own or most.times < max(_OFTEN, own.times + 1):
            return None
        return [most.times, most.shape, most.behind, most.first]


def _called(step: Step) -> Any:
    place = tuple(step.stack[0]) if step.stack[0] else None
    return step.function, place, tuple(_kind(one) for one in step.before)


def _kind(described: list[Any]) -> Any:
    shape, dtype = described
    return len(shape), dtype, 0 in shape
