"""Candidates for tensors that a dataset puts together row by row and that have other numbers of rows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.generators.slices import Operand, operands
from explainer.edits.kinds.statements import insert_statement
from explainer.edits.place import Place
from explainer.source import stored


def filtered_too(evidence: Evidence) -> Iterator[Candidate]:
    """`x = x[keep]` followed by `y = y[keep]`: rows left out of one of two that are then put together."""
    frame = evidence.frames[-1] if evidence.frames else None
    if frame is None or len(_rows(evidence)) < 2:
        return
    function = _function(frame.place)
    rebound: list[Any] = [one for one in ast.walk(function) if _filters(one)]
    rebound = [one for one in rebound if one.lineno < frame.place.span.line]
    names = [one.id for one in ast.walk(frame.place.node) if isinstance(one, ast.Name)]
    taken = {one.targets[0].id for one in rebound}
    for one in rebound if taken & set(names) else ():
        index, place = frame.place.source.text(one.value.slice), frame.place.at(one)
        for name in dict.fromkeys(names):
            if name not in taken and _is_bound(function, name):
                words: dict[str, Any] = {"what": name, "new": f"{name}[{index}]"[:70]}
                edits = partial(insert_statement, f"{name} = {name}[{index}]", after=place)
                yield from evidence.made(edits, "insert-statement", place, "cut-too", **words)


def _rows(evidence: Evidence) -> set[int]:
    """The numbers of rows of the tensors that the failing call got."""
    return {one.shape[0] for one in _tensors(evidence)}


def _tensors(evidence: Evidence) -> list[Operand]:
    return [one for one in operands(evidence) if one.place is not None and one.shape]


def _function(place: Place) -> Any:
    return place.source.scope_at(place.span.line)


def _filters(node: Any) -> bool:
    """`x = x[...]`."""
    simple = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    cut = simple and isinstance(node.value, ast.Subscript) and isinstance(node.value.value, ast.Name)
    return cut and bool(node.value.value.id == node.targets[0].id)


def _is_bound(function: Any, name: str) -> bool:
    """Whether a function binds a name itself or is given it: it is no module or class."""
    return name in stored(function) or name in [one.arg for one in ast.walk(function) if isinstance(one, ast.arg)]
