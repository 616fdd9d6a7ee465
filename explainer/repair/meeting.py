"""Where the operands of a failing call were made of one value: what made that value made all of them alike."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from explainer.edits.evidence import Evidence, Step
from explainer.edits.place import Place

_SIZES = re.compile(r"\b[Ss]izes?\b|\b[Ss]hapes?\b|\bdimensions?\b")
Line = tuple[str, int]


def above(evidence: Evidence) -> Collection[Line]:
    """The lines behind what all operands of a call are made of that does not take their sizes, and behind no one alone.

    What is edited there changes all of them, and so does not bring them together.
    """
    if evidence.above is None:
        evidence.above = _above(evidence) if _SIZES.search(evidence.message) else frozenset()
    return evidence.above


def _above(evidence: Evidence) -> frozenset[Line]:
    starts = [one for one in (evidence.crash.inputs if evidence.crash is not None else ()) if one is not None]
    ways = [_behind(evidence.steps, start) for start in starts]
    shared = frozenset.intersection(*ways) if len(ways) > 1 else frozenset()
    if not shared:
        return frozenset()
    known = len(evidence.steps)
    beside = {0, *(one for one in starts if one < known), *frozenset.union(*ways) - shared}
    apart = {_home(place) for at in beside for place in _of(evidence.steps[at])}
    return frozenset(
        map(_line, (place for at in shared for place in _of(evidence.steps[at]) if _home(place) not in apart))
    )


def _behind(steps: list[Step], start: int) -> frozenset[int]:
    """The steps that a step was made of, and itself."""
    seen: set[int] = set()
    ahead = [start]
    while ahead:
        at = ahead.pop()
        if at not in seen and at < len(steps):
            seen.add(at)
            ahead += [one for one in steps[at].inputs if one is not None]
    return frozenset(seen)


def _home(place: Place) -> tuple[str, int]:
    """The function that a place stands in: another object of its class may have a part on one side alone."""
    function = place.source.function_at(place.line)
    return place.source.file, function.lineno if function is not None else 0


def _line(place: Place) -> Line:
    return place.source.file, place.line


def _of(step: Step) -> Iterator[Place]:
    """The places of a call and of the making of its layer."""
    yield from step.places[:2]
    yield from (call.place for call in (step.layer.calls[:2] if step.layer is not None else ()))
