"""Where the operands of a failing call were made of one value: what made that value made all of them alike."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from explainer.edits.evidence import Evidence, Step

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
    return _lines(evidence.steps, shared) - _lines(evidence.steps, {0, *frozenset.union(*ways) - shared})


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


def _lines(steps: list[Step], numbers: Collection[int]) -> frozenset[Line]:
    return frozenset(line for at in numbers for line in _of(steps[at]))


def _of(step: Step) -> Iterator[Line]:
    """The lines of a call and of the making of its layer."""
    for place in step.places[:2]:
        yield place.source.file, place.span.line
    for call in step.layer.calls[:2] if step.layer is not None else ():
        yield call.place.source.file, call.place.span.line
