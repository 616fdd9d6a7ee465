"""Candidates for a wrong dimension on the way to the failing call: of a join, a reduction, an index, a size."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.calls import is_method
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Step
from explainer.edits.generators.sites import arriving, layers_hit
from explainer.edits.generators.slices import chain, operands
from explainer.edits.kinds.statements import delete_statement
from explainer.edits.place import Place

_TRANSPOSING = ("t", "transpose", "permute", "swapaxes", "swapdims", "movedim", "moveaxis", "T", "mT")
#: How many candidates there are at most, and from how many steps.
_MOST, _STEPS = 12, 10


def _steps(evidence: Evidence) -> list[Step]:
    found: list[Step] = []
    for one in operands(evidence):
        found += [step for step in chain(evidence, one.start, _STEPS) if step not in found]
    return found[:_STEPS]


def untransposed(evidence: Evidence) -> Iterator[Candidate]:
    """`(ids == 0).t()` -> `ids == 0`: a transposition that was not needed, left out."""
    yield from (candidate for _, candidate in _left_out(evidence))


def undone(evidence: Evidence) -> Iterator[Candidate]:
    """The transposition that put another size where its operand had the one that the failing layer was built for."""
    for layer, crash in layers_hit(evidence):
        need, given = arriving(layer, crash), crash.before[0][0] if crash.before else []
        built = layer.value(need[0]) if need is not None else None
        for step, candidate in _left_out(evidence) if need is not None and built != need[1] else ():
            moved = zip(step.before[0][0], given, strict=False)
            if step.shape == given and any(pair == (built, need[1]) for pair in moved):  # type: ignore[index]
                yield candidate


def _left_out(evidence: Evidence) -> Iterator[tuple[Step, Candidate]]:
    for step in _steps(evidence):
        place, node = step.place, step.place.node if step.place is not None else None
        if place is None or step.function not in _TRANSPOSING or not step.before:
            continue
        whole = node.func if isinstance(node, ast.Call) and is_method(node) else node
        if isinstance(whole, ast.Attribute):
            words: dict[str, Any] = {"what": place.text[:48], "method": step.function, "shape": step.before[0][0]}
            found = reduced(evidence, place, place.source.text(whole.value), "delete-method", "undo", **words)
            yield from ((step, candidate) for candidate in found)


def reduced(evidence: Evidence, place: Place, rest: str, kind: str, title: str, **words: Any) -> Iterator[Candidate]:
    """An expression that gives way to a part of it; its statement goes where that would be `x = x`."""
    statement = place.statement()
    if statement.text == f"{rest} = {place.text}":
        return evidence.made(partial(delete_statement, statement), kind, statement, title, **words)
    return evidence.replaced(place, rest, kind, title, **words)
