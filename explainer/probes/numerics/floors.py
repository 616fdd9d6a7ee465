"""What gave an operation its zeros: the call that makes negative numbers zero where positive ones were needed."""

from __future__ import annotations

import ast

from explainer.diagnosis import Span
from explainer.facts import NanFact, SpanFact
from explainer.probes import probe
from explainer.probes.numerics.births import recorded_birth
from explainer.probes.places import constructor, layer_source, recorded, span_fact
from explainer.probes.scene import Scene
from explainer.source import Source, called, holds, source_of

_SMALL = "1e-6"
_LIBRARIES = ("torch", "F", "nn.functional", "torch.nn.functional")


@probe
def floored(scene: Scene, of: NanFact | None = None) -> SpanFact | None:
    """The layer or the call whose zeros an operation divided by or took the logarithm of.

    `detail`: `operator` ("relu", "clamp"), `to`, what gives small positive numbers in its place, and `by`, its name.
    None where `torch.where` chooses between the operation's result and another: there zeros were thought of.
    """
    found = (recorded_birth(scene) or {}).get("floor") if of is not None else None
    if not found or of is None or _chosen(source_of(of.span.file), of.span):
        return None
    at = layer_source(found) if found["module"] else None
    at = constructor(*at, found["module"]) if at is not None else recorded(found, found["function"])
    to = _positive(*at) if at is not None else None
    name = found["function"].rstrip("_")
    return span_fact(*at, operator=name, to=to[0], by=to[1]) if at is not None and to is not None else None


floored.proves = True  # type: ignore[attr-defined]


def _chosen(source: Source, at: Span) -> bool:
    """Whether what is computed at a line is an argument of `where`, there or by its name further down."""
    scope = source.scope_at(at.line)
    wheres = [node for node in ast.walk(scope) if isinstance(node, ast.Call) and called(node) == "where"]
    names = {
        target.id
        for node in ast.walk(scope)
        if isinstance(node, ast.Assign) and holds(node, at.line)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    given = [node for where in wheres if where.lineno >= at.line for node in ast.walk(where)]
    inside = any(isinstance(node, ast.Name) and node.id in names for node in given)
    return inside or any(holds(where, at.line) for where in wheres)


def _positive(source: Source, node: ast.AST) -> tuple[str, str] | None:
    """The expression that is never zero: softplus for a ReLU, a clamp with a small floor for one with zero."""
    if not isinstance(node, ast.Call):
        return None
    name, head = called(node), source.text(node.func).rpartition(".")[0]
    if name in ("ReLU", "ReLU6"):
        return f"{head or 'torch.nn'}.Softplus()", "Softplus"
    method = bool(head) and head not in _LIBRARIES
    given = head if method else source.text(node.args[0]) if node.args else ""
    if not given:
        return None
    if name in ("relu", "relu_", "relu6"):
        home = head if head in ("F", "nn.functional") else "torch.nn.functional"
        return f"{home}.softplus({given})", "softplus"
    return _raised(source, node, node.args[0 if method else 1 :])


def _raised(source: Source, node: ast.Call, bounds: list[ast.expr]) -> tuple[str, str] | None:
    """A clamp with its zero floor made a small number."""
    floors = [*bounds[:1], *(word.value for word in node.keywords if word.arg in ("min", "min_val"))]
    zero = next((one for one in floors if isinstance(one, ast.Constant) and one.value == 0), None)
    if zero is None:
        return None
    text, start = source.text(node), source.span(node)
    at = source.span(zero)
    if start.line != start.end_line or at.column is None or at.end_column is None or start.column is None:
        return None
    before, after = at.column - start.column, at.end_column - start.column
    return text[:before] + _SMALL + text[after:], "clamp"
