"""Candidates for shortcuts of residual blocks: made only where the channels change, and not where the stride does."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place
from explainer.edits.shapes import BROADCAST
from explainer.edits.slices import operands


def strides_too(evidence: Evidence) -> Iterator[Candidate]:
    """`if c_in != c_out:` -> `if stride != 1 or c_in != c_out:` around the layer that a shortcut gets."""
    crash, every = evidence.crash, operands(evidence)
    if crash is None or crash.place is None or crash.function not in BROADCAST or len(every) < 2:
        return
    maps = [one.shape for one in every[:2]]
    if not all(len(shape) > 2 for shape in maps) or maps[0][:2] != maps[1][:2] or maps[0][2:] == maps[1][2:]:
        return
    owner = crash.place.source.class_at(crash.place.span.line)
    for test, body in _choices(owner) if owner is not None else ():
        stride = _stride(body)
        if stride is not None and stride not in {one.id for one in ast.walk(test) if isinstance(one, ast.Name)}:
            place = Place(crash.place.source, test)
            new = f"{stride} != 1 or {place.text}"
            words: dict[str, Any] = {"new": new, "old": place.text}
            yield from evidence.replaced(place, new, "replace", "rename", place, **words)


def _choices(owner: ast.ClassDef) -> Iterator[tuple[ast.Compare, list[ast.AST]]]:
    """The tests of a class on whether two sizes differ, with what is done where they do."""
    for node in ast.walk(owner):
        test = node.test if isinstance(node, (ast.If, ast.IfExp)) else None
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.NotEq):
            body = node.body  # type: ignore[attr-defined]
            yield test, body if isinstance(body, list) else [body]


def _stride(body: list[ast.AST]) -> str | None:
    """The name that a layer's stride is given in some statements."""
    names = [
        one.id for part in body for one in ast.walk(part) if isinstance(one, ast.Name) and "stride" in one.id.lower()
    ]
    return names[0] if names else None
