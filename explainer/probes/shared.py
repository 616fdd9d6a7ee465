"""The tensor that two losses of one iteration share, where the first of them could do without its history."""

from __future__ import annotations

import ast

from explainer.facts import CarriedFact, SpanFact
from explainer.probes import probe
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import is_tensor
from explainer.source import source_of


@probe
def detachable(scene: Scene, of: CarriedFact | None = None) -> SpanFact | None:
    """`fake` of `critic(fake)`: has a history, is given to a call before the first backward and again behind it.

    Only where an optimizer steps between both backwards, so that their losses cannot be added up; None where several
    tensors could be meant.
    """
    frame, failing = scene.user_frame, scene.failing
    if of is None or of.kind != "shared" or of.earlier is None or frame is None or failing is None:
        return None
    source, first, second = source_of(frame.file, frame.frame.f_globals), of.earlier.span.line, frame.line
    function = source.function_at(second)
    nodes = [one for one in source.nodes() if getattr(one, "lineno", 0) and source.function_at(one.lineno) is function]  # type: ignore[attr-defined]
    if not any(_steps(one) and first < one.lineno < second for one in nodes):  # type: ignore[attr-defined]
        return None
    held = {name for name, value in frame.locals.items() if is_tensor(value) and value.grad_fn is not None}
    given = [argument for one in nodes if isinstance(one, ast.Call) for argument in one.args]
    uses = [one for one in given if isinstance(one, ast.Name) and one.id in held and one.lineno <= second]
    again = {one.id for one in uses if one.lineno > first}
    before = [one for one in uses if one.lineno < first and one.id in again]
    return span_fact(source, before[0], name=before[0].id) if len(before) == 1 else None


def _steps(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "step"
