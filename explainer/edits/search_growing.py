"""Candidates for sequences that a loop lets grow past what a model was built for: only the last part is given to it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Call, Evidence
from explainer.edits.place import Place
from explainer.edits.sites import layers_hit
from explainer.source import holds

_JOINS = ("cat", "concat", "concatenate", "hstack")


def windowed(evidence: Evidence) -> Iterator[Candidate]:
    """`model(ids)` -> `model(ids[:, -limit:])` in a loop that appends to `ids`, one step after it was full."""
    limits = _limits(evidence)
    for frame in reversed(evidence.frames):
        node = frame.place.node
        for one in node.args if isinstance(node, ast.Call) else ():
            shape = frame.shape(ast.unparse(one))
            at = next((at for at, size in enumerate(shape) if size - 1 in limits), None)
            if at is None or not isinstance(one, ast.Name) or not _grows(frame, one.id):
                continue
            limit = _named(frame, shape[at] - 1, one.id)
            new = f"{one.id}[{':, ' * at}-{limit}:]"
            words: dict[str, Any] = {"what": one.id, "limit": limit}
            yield from evidence.replaced(frame.place.at(one), new, "insert-method", "window", **words)


def short_windows(evidence: Evidence) -> Iterator[Candidate]:
    """`range(0, len(x) - size)` -> `range(0, len(x) - size - after + 1)` for windows cut short at the end."""
    if not evidence.frames or evidence.crash is None or evidence.crash.function != "stack":
        return
    place = evidence.frames[-1].place
    function = place.source.scope_at(place.node.lineno)
    for loop in ast.walk(function):
        bounds = loop.iter.args if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) else []
        counter = loop.target.id if bounds and isinstance(loop.target, ast.Name) else ""  # type: ignore[attr-defined]
        if not counter or ast.unparse(loop.iter.func) != "range":  # type: ignore[attr-defined]
            continue
        stop = place.at(bounds[0 if len(bounds) == 1 else 1])
        for part in ast.walk(loop):
            end = part.slice.upper if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Slice) else None
            taken = _beyond(end, counter)
            if end is not None and taken:
                new = f"len({ast.unparse(part.value)}) - {' - '.join(taken)} + 1"  # type: ignore[attr-defined]
                words: dict[str, Any] = {"old": stop.text, "new": new}
                yield from evidence.replaced(stop, new, "replace", "rename", **words)


def _beyond(end: ast.expr | None, counter: str) -> list[str]:
    """The terms `size`, `after` of the end of a window, `i + size + after`; none for an end of another form."""
    terms: list[str] = []
    while isinstance(end, ast.BinOp) and isinstance(end.op, ast.Add):
        terms.insert(0, ast.unparse(end.right))
        end = end.left
    return terms if isinstance(end, ast.Name) and end.id == counter else []


def _limits(evidence: Evidence) -> set[int]:
    """The sizes that the failing call had to do with: of its operands, and the rows of an embedding."""
    sizes = {size for shape, _ in evidence.crash.before for size in shape} if evidence.crash is not None else set()
    rows = {layer.value("num_embeddings") for layer, _ in layers_hit(evidence)}
    return sizes | {row for row in rows if row is not None}


def _grows(frame: Call, name: str) -> bool:
    """Whether a loop around the call makes a tensor longer: `ids = torch.cat([ids, token], 1)`."""
    source, line = frame.place.source, frame.place.node.lineno
    loops = [one for one in source.nodes() if isinstance(one, (ast.For, ast.While))]
    for loop in (one for one in loops if holds(one, line)):
        for one in ast.walk(loop):
            if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call) and ast.unparse(one.targets[0]) == name:
                joins = ast.unparse(one.value.func).rsplit(".", 1)[-1] in _JOINS
                read = [part.id for part in ast.walk(one.value) if isinstance(part, ast.Name)]
                if joins and name in read:
                    return True
    return False


def _named(frame: Call, limit: int, name: str) -> str:
    """How the function can name the limit: an integer, a size of what the model holds, else the number."""
    scope = {text: value for text, value in frame.scope.items() if text != name and '"' not in text}
    ints = [text for text, value in scope.items() if value == limit and re.fullmatch(r"[\w.]+", text)]
    shapes = {text: value[0] for text, value in scope.items() if "." in text and isinstance(value, list)}
    held = [f"{text}.size({shape.index(limit)})" for text, shape in shapes.items() if limit in shape]
    return next(iter([*sorted(ints, key=lambda text: "." not in text), *held]), str(limit))


def filled(evidence: Evidence) -> Iterator[Candidate]:
    """`ids[:, :longest]` -> `pad(ids, (0, longest - ids.size(1)))`: a batch whose longest sample may be shorter."""
    for step in evidence.steps[1:]:
        place = step.place
        node: Any = place.node if place is not None else None
        end = _end_of_last(node, len(step.shape)) if isinstance(node, ast.Subscript) else None
        if place is not None and end is not None:
            what, size = place.source.text(node.value), place.source.text(end)
            new = f"torch.nn.functional.pad({what}, (0, {size} - {what}.size({len(step.shape) - 1})){_padding(place)})"
            yield from evidence.replaced(place, new, "replace", "pad-batch", what=what, size=size)


def _end_of_last(node: ast.Subscript, rank: int) -> ast.expr | None:
    """`n` of `x[:, :n]`: a name at which the last of all dimensions is cut, the others being whole."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if len(parts) != rank or not all(isinstance(one, ast.Slice) and not (one.lower or one.step) for one in parts):
        return None
    *others, last = (one.upper for one in parts if isinstance(one, ast.Slice))
    return last if isinstance(last, (ast.Name, ast.Attribute)) and not any(others) else None


def _padding(place: Place) -> str:
    """The value that the function pads with elsewhere, as an argument: `, value=PAD`."""
    scope = place.source.function_at(place.node.lineno)
    words = [one for one in ast.walk(scope) if isinstance(one, ast.keyword)] if scope is not None else []
    return next((f", value={ast.unparse(one.value)}" for one in words if one.arg == "padding_value"), "")
