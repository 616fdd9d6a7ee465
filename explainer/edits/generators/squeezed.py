"""Dimensions of size one: a bare `squeeze()` drops that of the batch, too; one that is left makes tables of columns."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Step
from explainer.edits.generators.shapes import BROADCAST
from explainer.edits.place import Place, as_primary
from explainer.source import called

#: How many steps behind the failing call are looked at, and how many a column is followed back.
_STEPS, _HANDED_ON = 90, 8


def squeezed(evidence: Evidence) -> Iterator[Candidate]:
    """`x.squeeze()` -> `x.squeeze(-1)`, `x.flatten(1)`: only the dimensions that it has dropped behind the first."""
    for step in evidence.steps[1:_STEPS]:
        before = step.before[0][0] if step.before else []
        ones = [at for at, size in enumerate(before) if size == 1 and at > 0]
        if ones and before[0] == 1 and len(before) - len(step.shape) == len(ones) + 1:
            yield from _named(evidence, step, before, ones)


def columns(evidence: Evidence) -> Iterator[Candidate]:
    """`q - goal` -> `q.squeeze(-1) - goal`: a column met a row behind the failing call, and made a table of both."""
    for step in evidence.steps[1:_STEPS]:
        node = step.place.node if step.place is not None else None
        if step.place is None or step.function not in BROADCAST or not isinstance(node, ast.BinOp):
            continue
        shapes = [shape for shape, _ in step.before]
        for at, side in enumerate((node.left, node.right) if len(shapes) == 2 else ()):
            mine, other = shapes[at], shapes[1 - at]
            met = other != [] and mine == [*other, 1] and step.shape == [*other, other[-1]] and other[-1] > 1
            if met and not _made_so(side):
                place = step.place.at(side)
                yield from _as_row(evidence, place, other[-1])
                for made in _handed_on(evidence, step.inputs[at] if at < len(step.inputs) else None):
                    yield from _as_row(evidence, made, other[-1])


def _as_row(evidence: Evidence, place: Place, size: int) -> Iterator[Candidate]:
    new = f"{as_primary(place)}.squeeze(-1)"
    yield from evidence.replaced(place, new, "replace", "column", old=place.short, n=size)


def _handed_on(evidence: Evidence, at: int | None) -> Iterator[Place]:
    """Where a column was handed on and made: one that is kept in a list is met at every place that reads it."""
    for _ in range(_HANDED_ON):
        if at is None or evidence.steps[at].shape[-1:] != [1]:
            return
        place = evidence.steps[at].place
        if place is not None and isinstance(place.node, ast.expr) and not _made_so(place.node):
            yield place
        before = [one for one in evidence.steps[at].inputs if one is not None]
        at = next((one for one in before if evidence.steps[one].shape[-1:] == [1]), None)


def _made_so(node: ast.expr) -> bool:
    """Whether an operand is turned into a column right there: then a table of both is meant."""
    if isinstance(node, ast.Subscript):
        return "None" in ast.unparse(node.slice)
    return isinstance(node, ast.Call) and called(node) in ("unsqueeze", "view", "reshape")


def _named(evidence: Evidence, step: Step, before: list[int], ones: list[int]) -> Iterator[Candidate]:
    """The candidates for a bare squeeze that is to drop some dimensions of the shape `before`."""
    data = _data(step)
    if data is None or step.place is None:
        return
    if not ones:
        yield from evidence.replaced(step.place, data.text, "replace", "squeeze", new=data.text[:48])
    for call, given in _calls(len(before), ones):
        function, method = f"torch.{call}({data.text}, {given})", f"{as_primary(data)}.{call}({given})"
        new = function if step.place.text.startswith("torch.") else method
        yield from evidence.replaced(step.place, new, "replace", "squeeze", new=f"{call}({given})")


def _data(step: Step) -> Place | None:
    """What is squeezed, as the source has it; None where the call names dimensions."""
    node: Any = step.place.node if step.place is not None else None
    if step.function != "squeeze" or step.place is None or not isinstance(node, ast.Call) or node.keywords:
        return None
    if ast.unparse(node.func) == "torch.squeeze":
        return step.place.at(node.args[0]) if len(node.args) == 1 else None
    owner = getattr(node.func, "value", None)
    return step.place.at(owner) if owner is not None and not node.args else None


def _calls(rank: int, ones: list[int]) -> Iterator[tuple[str, str]]:
    """The calls that drop the dimensions of size one, and no others."""
    if len(ones) == 1:
        yield "squeeze", "-1" if ones == [rank - 1] else str(ones[0])
    elif ones:
        if ones == [*range(2, rank)]:
            yield "flatten", "1"
        yield "squeeze", f"({', '.join(map(str, ones))})"
