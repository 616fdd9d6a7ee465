"""Candidates for negative labels: -1 and 1 for two classes, the mark of what does not count looked up as an index."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from contextlib import suppress
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


def marked(evidence: Evidence) -> Iterator[Candidate]:
    """`target` -> `target.clamp(min=0)` where a negative mark is looked up that the program itself tells apart."""
    crash = evidence.crash
    for operand, extent in zip(operands(evidence), crash.extents if crash is not None else (), strict=False):
        place = operand.place
        if place is None or extent is None or extent[0] >= 0 or extent[0] not in set(_compared(evidence)):
            continue
        new = f"{as_primary(place)}.clamp(min=0)"
        yield from evidence.replaced(place, fitted(place, new), "replace", "marked", new=new[:60], low=extent[0])


def _compared(evidence: Evidence) -> Iterator[int]:
    """The whole numbers with which the program compares something, named or not."""
    nodes = [node for source in evidence.sources_seen() for node in source.nodes()]
    constants = {one.targets[0].id: one.value for one in nodes
                 if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)}  # fmt: skip
    compared = [side for one in nodes if isinstance(one, ast.Compare) for side in (one.left, *one.comparators)]
    for side in compared:
        with suppress(ValueError):
            value = ast.literal_eval(constants.get(side.id, side) if isinstance(side, ast.Name) else side)
            if type(value) is int:
                yield value
