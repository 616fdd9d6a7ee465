"""Candidates for tensors of empty lists, which have lost the columns that the others have."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place, as_primary
from explainer.edits.slices import chain, operands

_MADE = ("tensor", "as_tensor", "from_numpy", "FloatTensor", "LongTensor")


def with_columns(evidence: Evidence) -> Iterator[Candidate]:
    """`torch.tensor(boxes)` -> `torch.tensor(boxes).reshape(-1, 5)`: an empty list does not tell its columns."""
    place = evidence.crash.place if evidence.crash is not None else None
    for operand in operands(evidence) if place is not None else ():
        columns = _columns(place, operand.text) if place is not None and operand.shape == [0] else 0
        for step in chain(evidence, operand.start) if columns else ():
            if step.function in _MADE and step.shape == [0] and step.place is not None:
                new = f"{as_primary(step.place)}.reshape(-1, {columns})"
                words: dict[str, Any] = {"what": step.place.text[:48], "columns": columns}
                yield from evidence.replaced(step.place, new, "insert-method", "columns", **words)


def _columns(place: Place, name: str) -> int:
    """How many columns the function of the failing call reads of a name, at the least; 0 where it does not tell."""
    scope = place.source.scope_at(place.span.line)
    read = [_read(node, name) for node in ast.walk(scope)]
    return max(read, default=0)


def _read(node: ast.AST, name: str) -> int:
    """`boxes[:, 3:5]` -> 5, `boxes[:, 0]` -> 1, `x, y, w, h = boxes.unbind(1)` -> 4."""
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) == name and isinstance(node.slice, ast.Tuple):
        last = node.slice.elts[-1] if len(node.slice.elts) == 2 else None
        bound = last.upper if isinstance(last, ast.Slice) else last
        number = bound.value if isinstance(bound, ast.Constant) and isinstance(bound.value, int) else -1
        return number + (not isinstance(last, ast.Slice)) if number >= 0 else 0
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
        taken = ast.unparse(node.value) in (f"{name}.unbind(1)", f"{name}.unbind(-1)", f"{name}.T", f"{name}.t()")
        return len(node.targets[0].elts) if taken or ast.unparse(node.value) == f"{name}.unbind(dim=1)" else 0
    return 0
