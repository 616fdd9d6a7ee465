"""Tensors that were to become one Python number: which, and the expression that left them many."""

from __future__ import annotations

import ast

from explainer.facts import SpanFact, TensorFact
from explainer.probes import probe
from explainer.probes.files import named
from explainer.probes.origin import last_binding
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.tensor import tensor_fact
from explainer.probes.values import is_tensor, read
from explainer.source import Source, called

_TO_NUMBER = ("item", "float", "int")


@probe
def one_number(scene: Scene) -> TensorFact | None:
    """The tensor of several elements that the failing `item()`, `float(x)` or `int(x)` was given."""
    frame, failing, node = scene.user_frame, scene.failing, _given(scene)
    value = read(node, frame.frame) if node is not None and frame is not None else None
    if node is None or failing is None or not is_tensor(value):
        return None
    return tensor_fact(failing.source.text(node), value, failing.source.span(node))


@probe
def number_of(scene: Scene) -> SpanFact | None:
    """What the failing `item()`, `float(...)` or `int(...)` was given, where it is computed right there.

    `detail`: `selected`, whether a part of it is selected by a subscript, which may be nothing.
    """
    failing, node = scene.failing, _given(scene)
    if failing is None or not isinstance(node, (ast.Call, ast.BinOp, ast.Compare, ast.Subscript, ast.UnaryOp)):
        return None
    return span_fact(failing.source, node, selected=any(isinstance(one, ast.Subscript) for one in ast.walk(node)))


def _given(scene: Scene) -> ast.expr | None:
    """What is to become one Python number."""
    call = scene.failing.node if scene.failing is not None else None
    if not isinstance(call, ast.Call) or called(call) not in _TO_NUMBER:
        return None
    if isinstance(call.func, ast.Attribute):
        return call.func.value
    return call.args[0] if len(call.args) == 1 else None


@probe
def left_many(scene: Scene, of: TensorFact | None = None) -> SpanFact | None:
    """The expression that gave a name its several elements, in the function of the crash or in the one it calls.

    `detail`: `whole`, whether its elements are whole numbers or truth values, of which no mean is taken.
    """
    frame, failing = scene.user_frame, scene.failing
    if of is None or frame is None or failing is None:
        return None
    bound = last_binding(failing.source, frame, of.name)
    if not isinstance(bound, ast.Assign) or ast.unparse(bound.targets[0]) != of.name:
        return None
    source, node = _returned(scene, bound.value) or (failing.source, bound.value)
    return span_fact(source, node, whole=not of.dtype.startswith(("float", "bfloat", "complex")))


def _returned(scene: Scene, node: ast.AST) -> tuple[Source, ast.AST] | None:
    """What the user's function returns that a call names, where it has one `return`."""
    name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
    for source, function in named(scene, ast.FunctionDef, name):
        returns = [one.value for one in ast.walk(function) if isinstance(one, ast.Return)]
        return (source, returns[0]) if len(returns) == 1 and returns[0] is not None else None
    return None
