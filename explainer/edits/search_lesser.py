"""Candidates for requests beyond any memory where a sample of the rows lies beside: the sample in their place."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Call, Evidence
from explainer.edits.lines import changed
from explainer.edits.place import Place

#: A sample has at most one row of so many, and the whole at least so many rows.
_OF, _MANY = 8, 4096
_FRAMES = 4
_PARAMETERS = (".weight", ".bias")
_NAMED = (ast.Name, ast.Attribute, ast.Subscript)


def sampled(evidence: Evidence) -> Iterator[Candidate]:
    """`knn(scan, k)` -> `knn(keypoints, k)`: a tensor of fewer rows, else alike, that was made before the call."""
    frames = [*evidence.frames[: -_FRAMES - 1 : -1], *_upstream(evidence)]
    for samples in (_taken, _picked):
        for frame in frames:
            named = _named(frame.place) | (_named(evidence.crash.place) if evidence.crash is not None else set())
            for old, places in _given(frame).items():
                for new in samples(frame, old):
                    if new not in named:
                        yield from _in_place(evidence, frame, places, old, new)


def _named(place: Place | None) -> set[str]:
    """What an expression names, one beside another: both sides of a difference are meant."""
    if place is None:
        return set()
    return {place.source.text(node) for node in ast.walk(place.node) if isinstance(node, _NAMED)}


def _upstream(evidence: Evidence) -> Iterator[Call]:
    """The calls that led to the operands, in the functions that still run, with what is in scope there now."""
    for place in (place for step in evidence.steps[1:] for place in step.places):
        frame = evidence.frame_of(place)
        if frame is not None and frame.place.node is not place.node:
            yield Call(place, frame.scope, frame.function)


def _given(frame: Call) -> dict[str, list[Place]]:
    """The tensors of many rows that a frame's call names, each with its places there."""
    found: dict[str, list[Place]] = {}
    for node in ast.walk(frame.place.node):
        text = frame.place.source.text(node) if isinstance(node, _NAMED) else ""
        shape = frame.shape(text.replace("'", '"')) if text else []
        if shape and shape[0] >= _MANY:
            found.setdefault(text, []).append(frame.place.at(node))  # type: ignore[arg-type]
    return found


def _taken(frame: Call, old: str) -> list[str]:
    """The tensors in scope that are like another but have fewer rows, those taken from it first."""
    (rows, *sizes), dtype = frame.scope[old.replace("'", '"')]
    alike = [
        name for name, (shape, kind) in _tensors(frame).items()
        if kind == dtype and shape[1:] == sizes and 1 < shape[0] * _OF <= rows and not _indexes(frame, name)
    ]  # fmt: skip
    return sorted(alike, key=lambda name: not _taken_from(frame, name, old))


def _picked(frame: Call, old: str) -> list[str]:
    """The rows of a tensor at the positions that a name in scope holds."""
    rows = frame.shape(old.replace("'", '"'))[0]
    names = [name for name, (shape, dtype) in _tensors(frame).items() if _picks(shape, dtype, rows)]
    return [f"{old}[{name}]" for name in names if _indexes(frame, name)]


def _tensors(frame: Call) -> dict[str, list]:
    """The tensors of one dimension or more in scope, a layer's parameters left out."""
    every = {name: value for name, value in frame.scope.items() if isinstance(value, list) and value[0]}
    return {name: value for name, value in every.items() if not name.endswith(_PARAMETERS)}


def _picks(shape: list[int], dtype: str, rows: int) -> bool:
    few = dtype == "int64" and 1 < shape[0] * _OF <= rows
    return len(shape) == 1 and (few or (dtype == "bool" and shape[0] == rows))


def _indexes(frame: Call, name: str) -> bool:
    """Whether the frame's file picks entries of a tensor by the positions that a name holds."""
    subscripts = (node for node in frame.place.source.nodes() if isinstance(node, ast.Subscript))
    return any(ast.unparse(node.slice).replace("'", '"') == name for node in subscripts)


def _taken_from(frame: Call, name: str, old: str) -> bool:
    """Whether a statement of the frame's file gives the name a part of the tensor."""
    last = name.rstrip('"]').split(".")[-1].split('["')[-1]
    pattern = f"{old.split('.')[-1]}["
    return any(
        isinstance(node, (ast.Assign, ast.Dict)) and last in (text := frame.place.source.text(node)) and pattern in text
        for node in frame.place.source.nodes()
    )


def _in_place(evidence: Evidence, frame: Call, places: list[Place], old: str, new: str) -> Iterator[Candidate]:
    rows = frame.shape(old.replace("'", '"'))[0]
    words: dict[str, Any] = {"old": old, "new": new, "rows": rows, "less": _rows(frame, new)}
    edits = partial(changed, places[0].source, [(one.span, new) for one in places])
    yield from evidence.made(edits, "replace", places[0], "sample", **words)


def _rows(frame: Call, new: str) -> int:
    inner = new[new.rindex("[") + 1 : -1] if new not in frame.scope else new
    return (frame.shape(new) or frame.shape(inner) or [0])[0]
