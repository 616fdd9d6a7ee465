"""Candidates for class numbers given where a column for each class is wanted: maps of classes, lists of tags."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.shapes import BROADCAST, SAME
from explainer.edits.slices import Operand, operands
from explainer.edits.statements import insert_statement

_ONE_HOT = "torch.nn.functional.one_hot"


def one_hot_map(evidence: Evidence) -> Iterator[Candidate]:
    """`scores * labels` -> `one_hot(labels, scores.shape[1]).movedim(-1, 1)`: scores of classes, and class numbers."""
    for scores, labels in _pairs(evidence, (*BROADCAST, *SAME)):
        alike = len(scores.shape) > 2 and labels.shape == [scores.shape[0], *scores.shape[2:]]
        if alike and _below(evidence, labels, scores):
            new = f"{_ONE_HOT}({labels.text}, {_columns(scores)}).movedim(-1, 1)"
            yield from _replaced(evidence, labels, scores, new)


def many_hot(evidence: Evidence) -> Iterator[Candidate]:
    """`bce(scores, tags)` -> `one_hot(tags, scores.shape[1]).amax(1)`: the numbers of several classes a sample."""
    for scores, tags in _pairs(evidence, ("binary_cross_entropy", "binary_cross_entropy_with_logits")):
        two = len(scores.shape) == len(tags.shape) == 2 and scores.shape[0] == tags.shape[0]
        if two and scores.shape[1] != tags.shape[1] and _below(evidence, tags, scores):
            numbers = tags.text.removesuffix(".float()")
            whole = f"{numbers}.long()" if numbers == tags.text else numbers
            new = f"{_ONE_HOT}({whole}, {_columns(scores)}).amax(1).float()"
            yield from _replaced(evidence, tags, scores, new)


def _columns(scores: Operand) -> str:
    named = scores.place is not None and isinstance(scores.place.node, (ast.Name, ast.Attribute))
    return f"{scores.text}.shape[1]" if named else str(scores.shape[1])


def _pairs(evidence: Evidence, functions: tuple[str, ...]) -> Iterator[tuple[Operand, Operand]]:
    """Two operands of the failing call, the scores and what may be class numbers."""
    crash, every = evidence.crash, [one for one in operands(evidence)[:2] if one.place is not None]
    if crash is not None and crash.function in functions and len(every) == 2:
        yield every[0], every[1]
        yield every[1], every[0]


def _below(evidence: Evidence, labels: Operand, scores: Operand) -> bool:
    """Whether labels, as far as they were whole numbers, number the classes of the scores, more than two of them."""
    extents = evidence.crash.extents if evidence.crash is not None else ()
    known = extents[labels.index] if labels.index < len(extents) else None
    return known is not None and known[0] >= 0 and 1 < known[1] < scores.shape[1]


def _replaced(evidence: Evidence, labels: Operand, scores: Operand, new: str) -> Iterator[Candidate]:
    """The columns in the place of the numbers: from here on where a name holds them, else in this expression."""
    words: dict[str, Any] = {"what": labels.text[:48], "count": scores.shape[1]}
    place = labels.place
    if place is not None and isinstance(place.node, ast.Name):
        edits = partial(insert_statement, f"{place.text} = {new}", before=place.statement())
        yield from evidence.made(edits, "insert-statement", place, "one-hot", **words)
    if place is not None:
        yield from evidence.replaced(place, new, "replace", "one-hot", **words)
