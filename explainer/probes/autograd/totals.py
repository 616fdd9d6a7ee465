"""Totals that a loop adds its losses to: what one iteration adds, which is what its backward should start from."""

from __future__ import annotations

import ast
from typing import Any

from explainer.facts import CarriedFact, Settings, SpanFact
from explainer.probes import probe
from explainer.probes.autograd.cuts import receiver
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene


@probe
def own_share(scene: Scene, of: CarriedFact | None = None) -> SpanFact | None:
    """The total of all iterations, from which backward starts; `detail`: `share`, what this adds, `new` its text."""
    total = receiver(scene)
    source = scene.source(of.span.file) if of is not None and of.kind == "carried" else None
    if of is None or source is None or total is None or total.text != of.name or total.span.file != of.span.file:
        return None
    added = _added(source.statement_at(of.span.line), of.name)
    if added is None:
        return None
    share = span_fact(source, added)
    return SpanFact(total.span, total.text, Settings((("new", share.text), ("share", share))))


def _added(statement: Any, total: str) -> ast.Name | ast.Attribute | None:
    """`loss` of `total += loss`, `total = total + loss` and `total = loss + total`."""
    target: ast.expr
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        target, parts = statement.target, [statement.value]
    elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp):
        target, parts = statement.targets[0], [statement.value.left, statement.value.right]
        parts = [one for one in parts if ast.unparse(one) != total] if isinstance(statement.value.op, ast.Add) else []
    else:
        return None
    own = len(parts) == 1 and ast.unparse(target) == total and isinstance(parts[0], (ast.Name, ast.Attribute))
    return parts[0] if own else None  # type: ignore[return-value]
