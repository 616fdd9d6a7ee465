"""Candidates for tensors that a dataset puts together row by row and that have other numbers of rows."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Call, Evidence
from explainer.edits.lines import changed
from explainer.edits.place import Place, as_primary
from explainer.edits.slices import Operand, operands
from explainer.edits.statements import insert_statement
from explainer.source import stored

#: The most names of one assignment of which two may be exchanged.
_NAMES = 6


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


def named_alike(evidence: Evidence) -> Iterator[Candidate]:
    """`Pairs(x_val, y)` -> `Pairs(x_val, y_val)`: the name of the set that only one of two arguments has."""
    every = [one for one in _tensors(evidence) if one.text.isidentifier()]
    for wrong, other in itertools.permutations(every, 2):
        for name in _of_set(wrong, other, evidence.frames[-1]) if evidence.frames else ():
            if wrong.place is not None:
                yield from evidence.replaced(wrong.place, name, "replace", "rename", new=name, old=wrong.text)


def _of_set(wrong: Operand, other: Operand, frame: Call) -> Iterator[str]:
    """The tensors in scope with as many rows as the other whose name shares a part with both: `y_val` for `y`."""
    own, beside = _parts(wrong.text), _parts(other.text)
    for name in frame.scope if wrong.shape[0] != other.shape[0] else ():
        parts = _parts(name)
        shares = parts & own and parts & (beside - own) and name not in (wrong.text, other.text)
        if shares and name.isidentifier() and frame.shape(name)[:1] == other.shape[:1]:
            yield name


def _parts(name: str) -> set[str]:
    return {part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", name)}


def rows_first(evidence: Evidence) -> Iterator[Candidate]:
    """`Pairs(x, y)` -> `Pairs(x.t(), y)`: a matrix that has the samples in its columns."""
    rows = _rows(evidence)
    for one in _tensors(evidence) if len(rows) == 2 else ():
        if one.place is not None and len(one.shape) == 2 and {one.shape[1]} == rows - {one.shape[0]}:
            new = f"{as_primary(one.place)}.t()"
            yield from evidence.replaced(one.place, new, "insert-method", "rename", new=new, old=one.text)


def behind_window(evidence: Evidence) -> Iterator[Candidate]:
    """`Pairs(windows(x, width), x)` -> `x[width:]`: what follows each window, of a series that is longer by one."""
    rows = _rows(evidence)
    for one in _tensors(evidence) if len(rows) == 2 and evidence.frames else ():
        place, longest = one.place, one.shape[0] == max(rows)
        for text in _named(evidence.frames[-1], max(rows) - min(rows)) if longest else ():
            if place is not None:
                new = f"{as_primary(place)}[{text}:]"
                words: dict[str, Any] = {"what": one.text[:48], "new": new[:70]}
                yield from evidence.replaced(place, new, "insert-method", "cut-too", **words)


def _named(frame: Call, count: int) -> Iterator[str]:
    """What a function calls a count: a name, or one less than a name."""
    ints = [(name, value) for name, value in frame.scope.items() if isinstance(value, int) and "len(" not in name]
    yield from (name for name, value in ints if value == count > 0)
    yield from (f"{name} - 1" for name, value in ints if value == count + 1)


def taken_in_order(evidence: Evidence) -> Iterator[Candidate]:
    """`x, x_val, y, y_val = split(...)` -> `x, y, x_val, y_val`: two of the names exchanged, neighbours first."""
    frame = evidence.frames[-1] if evidence.frames else None
    if frame is None or len(_rows(evidence)) < 2:
        return
    used = {one.id for one in ast.walk(frame.place.node) if isinstance(one, ast.Name)}
    for node in ast.walk(_function(frame.place)):
        names = _taken(node)
        for at, other in sorted(itertools.combinations(range(len(names)), 2), key=lambda pair: pair[1] - pair[0]):
            turned = [one.id for one in names]
            turned[at], turned[other] = turned[other], turned[at]
            if used & {turned[at], turned[other]}:
                first, second = frame.place.at(names[at]), frame.place.at(names[other])
                edits = partial(changed, first.source, [(first.span, second.text), (second.span, first.text)])
                place = frame.place.at(node)  # type: ignore[arg-type]
                yield from evidence.made(edits, "replace", place, "take-in-order", new=", ".join(turned))


def _taken(node: ast.AST) -> list[ast.Name]:
    """The names, more than two, to which an assignment takes what a call returns."""
    target = node.targets[0] if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) else None
    names = [one for one in getattr(target, "elts", ()) if isinstance(one, ast.Name)]
    return names if 2 < len(names) <= _NAMES else []
