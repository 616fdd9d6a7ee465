"""Candidates where a tensor, or its shape, is unpacked into another number of names than it has entries."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.generators.layout import put_behind
from explainer.edits.generators.slices import editable, trunk
from explainer.edits.place import Place
from explainer.patterns import Pattern

_COUNT = Pattern(r"values to unpack \(expected (\d+)")
#: How many calls behind the tensor are looked at.
_MOST = 12
#: An expression that an edit may stand behind, with the shape of its tensor.
_Site = tuple[Place, list[int]]


def entries(evidence: Evidence) -> Iterator[Candidate]:
    """`src, dst = edges` of (E, 2) -> `edges.t()`, where it is made first; `q, k = proj(x)` -> `.chunk(2, dim=-1)`."""
    if evidence.crash is None or evidence.crash.function != "unpack":
        return
    count, shape = _wanted(evidence), evidence.crash.before[0][0]
    at = next((at for at, size in enumerate(shape) if at and size == count), None)
    alike = [site for site in _handed(evidence) if site[1] == shape]
    for site in (*reversed(_makers(evidence)), *alike, *_taken(evidence)) if at is not None else ():
        yield from put_behind(evidence, site[0], "t()" if len(shape) == 2 else f"movedim({at}, 0)", site[1])
    if shape and count and shape[-1] % count == 0:
        for site in _taken(evidence):
            yield from put_behind(evidence, site[0], f"chunk({count}, dim=-1)", site[1])


def _wanted(evidence: Evidence) -> int:
    said = _COUNT.search(evidence.message)
    return int(said[1]) if said else 0


def _taken(evidence: Evidence) -> list[_Site]:
    """The expression that is unpacked."""
    at = evidence.frames[-1].place if evidence.frames else None
    statement = at.statement().node if at is not None else None
    value = statement.value if isinstance(statement, ast.Assign) else None
    shape = evidence.crash.before[0][0] if evidence.crash is not None else []
    return [(at.at(value), shape)] if at is not None and value is not None else []


def _handed(evidence: Evidence) -> Iterator[_Site]:
    """Tensors given to the calls on the stack, the outermost first; ids have one dimension less than their vectors."""
    rank = len(evidence.crash.before[0][0]) if evidence.crash is not None else 0
    for frame in evidence.frames[:-1]:
        call = frame.place.node
        for one in call.args if isinstance(call, ast.Call) else ():
            place = frame.place.at(one)
            shape = frame.shape(place.text) if isinstance(one, (ast.Name, ast.Attribute, ast.Subscript)) else []
            if shape and len(shape) in (rank, rank - 1):
                yield place, shape


def _makers(evidence: Evidence) -> list[_Site]:
    """Where the tensor was made in its shape, the nearest call first."""
    crash = evidence.crash
    steps = trunk(evidence, crash.inputs[0] if crash is not None and crash.inputs else None, _MOST)
    shape = crash.before[0][0] if crash is not None else []
    running = [frame.place.span for frame in evidence.frames]
    places = [step.place for step in steps if step.shape == shape and step.place is not None]
    return [(place, shape) for place in places if editable(place) and place.span not in running]
