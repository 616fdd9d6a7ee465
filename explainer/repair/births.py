"""Where what the failing call rejects began: the steps from which on a tensor has the dtype or size it came with."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from explainer.edits.evidence import Evidence, Step

Line = tuple[str, int]
#: Sizes below are as often ranks, dimensions and batches of one as what a message complains of.
_LEAST = 2


def births(evidence: Evidence) -> frozenset[Line]:
    """The lines of those steps, and of the calls that built their layers."""
    return frozenset(line for step in _born(evidence) for line in _lines(step))


def asking(evidence: Evidence) -> frozenset[Line]:
    """The lines of the calls that built the layer which failed."""
    crash = evidence.crash
    return frozenset(_built(crash)) if crash is not None else frozenset()


def _born(evidence: Evidence) -> Iterator[Step]:
    crash = evidence.crash
    if crash is None:
        return
    dtypes = {dtype for _, dtype in crash.before}
    sizes = set(evidence.said)
    for start, (shape, dtype) in zip(crash.inputs, crash.before, strict=False):
        if start is None:
            continue
        if len(dtypes) > 1:
            yield from _first(evidence, start, lambda step, kind=dtype: step.dtype == kind)  # type: ignore[misc]
            continue
        for size in {one for one in shape if one >= _LEAST} & sizes:
            yield from _first(evidence, start, lambda step, each=size: each in step.shape)  # type: ignore[misc]


def _first(evidence: Evidence, start: int, has: Callable[[Step], bool]) -> Iterator[Step]:
    """The step that is farthest back on a way on which every step's result has a property."""
    seen: set[int] = set()
    at: int | None = start
    last: Step | None = None
    while at is not None and at not in seen and has(evidence.steps[at]):
        seen.add(at)
        last = evidence.steps[at]
        at = next((one for one in last.inputs if one is not None and has(evidence.steps[one])), None)
    if last is not None:
        yield last


def _lines(step: Step) -> Iterator[Line]:
    if step.place is not None:
        yield step.place.source.file, step.place.span.line
    yield from _built(step)


def _built(step: Step) -> Iterator[Line]:
    for call in step.layer.calls if step.layer is not None else ():
        yield call.place.source.file, call.place.span.line
