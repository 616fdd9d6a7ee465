"""Candidates for counts taken for logarithms: their exponentials ask for more memory than there is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.bindings import arguments_of
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Call, Evidence
from explainer.source import called

#: What undoes an exponential.
_INVERSE = {"exp": "log", "expm1": "log1p", "exp2": "log2"}


def as_logarithms(evidence: Evidence) -> Iterator[Candidate]:
    """`model(ids, counts)` -> `model(ids, torch.log1p(counts.float()))`, where `expm1` is taken of that parameter."""
    frames = evidence.frames
    for at, frame in enumerate(frames):
        for function, parameter in _exponentials(frame):
            outer, given = _handed_down(frames[: at + 1], parameter)
            place = outer.place.at(given) if outer is not None and given is not None else None
            if outer is not None and place is not None and _whole_numbers(outer, place.text):
                new = f"torch.{_INVERSE[function]}({place.text}.float())"
                words: dict[str, Any] = {"new": new, "old": place.text, "function": function}
                yield from evidence.replaced(place, new, "wrap-call", "as-logarithms", **words)


def _exponentials(frame: Call) -> Iterator[tuple[str, str]]:
    """The exponentials that a frame's function takes of its parameters above the frame's line."""
    line = frame.place.span.line
    function = frame.place.source.function_at(line)
    names = {one.arg for one in ast.walk(function) if isinstance(one, ast.arg)} if function is not None else set()
    for node in ast.walk(function) if function is not None else ():
        if isinstance(node, ast.Call) and called(node) in _INVERSE and node.lineno <= line:
            read = [one.id for one in ast.walk(node) if isinstance(one, ast.Name) and one.id in names]
            yield from ((called(node), name) for name in read)


def _handed_down(frames: list[Call], parameter: str) -> tuple[Call | None, ast.expr | None]:
    """The outermost call whose argument, a plain name, is handed down to a parameter of the innermost frame."""
    found: tuple[Call | None, ast.expr | None] = None, None
    for outer, inner in zip(frames[-2::-1], frames[:0:-1], strict=True):
        function = inner.place.source.function_at(inner.place.span.line)
        names = [one.arg for one in function.args.args] if isinstance(function, ast.FunctionDef) else []
        given = arguments_of(outer.place.node, names).get(parameter) if isinstance(outer.place.node, ast.Call) else None
        if not isinstance(given, ast.Name):
            break
        found, parameter = (outer, given), given.id
    return found


def _whole_numbers(frame: Call, name: str) -> bool:
    value = frame.scope.get(name)
    return isinstance(value, list) and len(value) > 1 and str(value[1]).removeprefix("torch.").startswith("int")
