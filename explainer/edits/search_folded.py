"""Candidates for positions in a flattened matrix that are used as its rows or columns: beams and tokens of a search."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Step
from explainer.edits.place import Place, as_operand, fitted
from explainer.edits.slices import editable, operands, trunk

_CHOOSING = ("topk", "argmax", "argmin", "argsort", "sort", "max", "min", "multinomial")
_FLATTENING = ("view", "reshape", "flatten", "ravel")


def unfolded(evidence: Evidence) -> Iterator[Candidate]:
    """`best.flatten()` -> `best.flatten() % vocab` where `best` was chosen among beams * vocab scores in a row."""
    every = operands(evidence)
    for operand in every:
        rows = next((one.shape[0] for one in every if one is not operand and one.shape), 0)
        steps = trunk(evidence, operand.start, 12) if "int" in operand.dtype else []
        for at, (whole, width) in _choices(steps):
            place = steps[at - 1].place if at else operand.place
            sign = "%" if rows == width else "//" if rows * width == whole else None
            if sign is None or place is None or not editable(place):
                continue
            new = f"{as_operand(place.text)} {sign} {_named(place, width)}"
            words: dict[str, Any] = {"what": place.text[:48], "new": new, "rows": whole // width, "columns": width}
            yield from evidence.replaced(place, fitted(place, new), "replace", "unfold-position", **words)


def divided_alike(evidence: Evidence) -> Iterator[Candidate]:
    """`row = flat // beams; column = flat % words` -> `flat // words`: both parts of a position take one divisor."""
    crash = evidence.crash
    place = crash.place if crash is not None else None
    scope = place.source.scope_at(place.span.line) if place is not None else None
    parts = [one for one in ast.walk(scope) if isinstance(one, ast.BinOp)] if scope is not None else []
    rows = [one for one in parts if isinstance(one.op, ast.FloorDiv)]
    columns = [one for one in parts if isinstance(one.op, ast.Mod)]
    for row, column in ((one, other) for one in rows for other in columns):
        apart = ast.unparse(row.right) != ast.unparse(column.right)
        if place is not None and apart and ast.unparse(row.left) == ast.unparse(column.left):
            for one, other in ((row.right, column.right), (column.right, row.right)):
                at, new = place.at(one), place.source.text(other)
                yield from evidence.replaced(at, new, "replace", "divided-alike", new=new, old=at.text)


def _choices(steps: list[Step]) -> Iterator[tuple[int, tuple[int, int]]]:
    """The steps that chose positions in a flattened matrix: their index, how many entries it has and how many a row."""
    for at, step in enumerate(steps):
        if step.function not in _CHOOSING or not step.before:
            continue
        shape = step.before[0][0]
        if step.function.startswith("arg") and not step.shape and len(shape) > 1:
            yield at, (prod(shape), shape[-1])
        for flat in steps[at + 1 : at + 2]:
            given = flat.before[0][0] if flat.function in _FLATTENING and flat.before else []
            if len(given) > 1 and flat.shape[-1:] == [prod(given[-2:])] and given[-1] > 1 and given[-2] > 1:
                yield at, (flat.shape[-1], given[-1])


def _named(place: Place, width: int) -> str:
    """How the function divides positions already, `best // vocab`; else the number."""
    function = place.source.function_at(place.node.lineno)
    divided = [
        place.source.text(node.right)
        for node in (ast.walk(function) if function is not None else ())
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.FloorDiv, ast.Mod))
    ]
    return divided[0] if len(set(divided)) == 1 else str(width)
