"""Writes like the one that torch refused: the statements behind it that would be refused for the same reason."""

from __future__ import annotations

import ast
from typing import Any

from explainer.edits.kinds.inplace import block_of, index_in
from explainer.edits.lines import EditError
from explainer.edits.place import Place
from explainer.facts import SpanFact, WriteFact
from explainer.probes import probe
from explainer.probes.autograd.writes import target_of_write
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import base_of, is_tensor, read
from explainer.source import called

#: How many statements behind the refused one are looked at.
_MOST = 12


@probe
def alike_writes(scene: Scene, of: WriteFact | None = None) -> tuple[SpanFact, ...] | None:
    """The refused write and those behind it in its block whose targets stand as its own does; None where it is alone.

    `w -= lr * w.grad` is followed by `b -= lr * b.grad`; `i.sigmoid_()` on one part of a chunk by `f.sigmoid_()`.
    """
    failing, frame = scene.failing, scene.user_frame
    if of is None or of.kept is None or failing is None or frame is None:
        return None
    refused = failing.source.statement_at(of.kept.span.line)
    first = _written(refused, frame.frame)
    try:
        body = block_of(Place(failing.source, refused))  # type: ignore[arg-type]
        behind = body[index_in(body, Place(failing.source, refused)) + 1 :][:_MOST]  # type: ignore[arg-type]
    except EditError:
        return None
    alike = [one for one in behind if _same_standing(first, _written(one, frame.frame))]
    places = [refused, *alike]
    return tuple(span_fact(failing.source, one) for one in places if one is not None) if alike else None


def _written(statement: ast.stmt | None, frame: Any) -> Any:
    """The tensor that a statement writes into; None where it writes into none, or that cannot be read."""
    node: ast.AST | None = statement
    if isinstance(statement, ast.Expr):
        node = statement.value
        if not isinstance(node, ast.Call) or not called(node).endswith("_") or called(node).endswith("__"):
            return None
    elif isinstance(statement, ast.Assign):
        node = statement.targets[0]
        if not isinstance(node, ast.Subscript):
            return None
    elif not isinstance(statement, ast.AugAssign):
        return None
    target = target_of_write(node)  # type: ignore[arg-type]
    value = read(target, frame) if target is not None else None
    return value if is_tensor(value) else None


def _same_standing(one: Any, other: Any) -> bool:
    """Both are leaves that require grad (or views of such), or both views of one tensor made by the same call."""
    if one is None or other is None:
        return False
    bases = base_of(one), base_of(other)
    if all(base.is_leaf and base.requires_grad for base in bases):
        return True
    nodes = [tensor.grad_fn for tensor in (one, other)]
    return bases[0] is bases[1] and None not in nodes and nodes[0].name() == nodes[1].name()
