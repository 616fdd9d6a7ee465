"""Candidates for labels that are -1 and 1, where a loss for two classes wants 0 and 1."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Step
from explainer.edits.generators.slices import chain, editable, operands
from explainer.edits.place import Place, as_primary, fitted

#: So few labels may lack a 0 by chance.
_ENOUGH = 6


def as_classes(evidence: Evidence) -> Iterator[Candidate]:
    """`labels` -> `(labels + 1) // 2` where the labels of two classes come from, if all of them are -1 or 1."""
    crash = evidence.crash
    if crash is None or not ("nll" in crash.function or "cross_entropy" in crash.function):
        return
    classes = crash.before[0][0][1] if len(crash.before[0][0]) > 1 else 0
    for operand, extent in zip(operands(evidence), crash.extents, strict=False):
        if classes != 2 or extent != [-1, 1, 2] or math.prod(operand.shape) < _ENOUGH:
            continue
        steps = [step for step in chain(evidence, operand.start) if "int" in step.dtype]
        for place in dict.fromkeys([*map(_written, reversed(steps)), operand.place]):
            if place is not None and editable(place):
                new = f"({as_primary(place)} + 1) // 2"
                words: dict[str, Any] = {"new": new if len(new) < 60 else "(labels + 1) // 2"}
                yield from evidence.replaced(place, fitted(place, new), "replace", "signs", **words)


def _written(step: Step) -> Place | None:
    return step.places[0] if step.places else None
