"""Whole numbers that are to require grad: the expression that makes them, as a parameter, an input or new data."""

from __future__ import annotations

import ast
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.call import call_node
from explainer.probes.origin import last_binding
from explainer.probes.places import span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.values import is_tensor, read
from explainer.source import called

#: Functions that take a dtype and choose an integer one for whole numbers, or always.
_FACTORIES = (
    "tensor", "as_tensor", "arange", "full", "ones", "zeros", "randint", "eye", "randperm", "empty", "linspace",
    "full_like", "ones_like", "zeros_like", "randint_like",
)  # fmt: skip
_CASTS = ("long", "int", "short", "bool", "byte", "char")


@probe
def whole_leaf(scene: Scene) -> SpanFact | None:
    """The expression whose whole numbers the failing expression wants gradients of.

    `detail`: `form`, how it can be made floating point (`factory` by its dtype, `cast` by another method, else
    `other`), `dtype` where it is known ("int64", else ""), `asked`, the expression that wants the gradients.
    """
    failing, frame = scene.failing, scene.user_frame
    if failing is None or frame is None:
        return None
    asked = call_node(failing.node)
    node = _made_leaf(asked, failing.source.statement_at(frame.line))
    if node is None:
        return None
    dtype = _dtype(scene, read(node, frame.frame))
    if isinstance(node, ast.Name):
        bound = last_binding(failing.source, frame, node.id)
        value = bound.value if isinstance(bound, ast.Assign) else None
        node = value if value is not None and _form(value) != "other" else node
    detail = {"form": _form(node), "dtype": dtype, "asked": failing.source.text(asked)}
    return span_fact(failing.source, node, **detail)


def _made_leaf(asked: ast.AST, statement: ast.stmt | None) -> ast.expr | None:
    """The operand of `nn.Parameter(x)`, `x.requires_grad_()`, `x.requires_grad = True` and `p.data = x`."""
    if isinstance(asked, ast.Attribute):
        given = statement.value if isinstance(statement, ast.Assign) and asked.attr == "data" else None
        return asked.value if asked.attr == "requires_grad" else given
    if not isinstance(asked, ast.Call):
        return None
    if called(asked) == "Parameter":
        operands = [*asked.args, *(word.value for word in asked.keywords if word.arg == "data")]
        return operands[0] if operands else None
    if called(asked) == "requires_grad_" and isinstance(asked.func, ast.Attribute):
        return asked.func.value
    return asked if any(word.arg == "requires_grad" for word in asked.keywords) else None


def _form(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return "other"
    if called(node) in _CASTS and isinstance(node.func, ast.Attribute) and not node.args:
        return "cast"
    return "factory" if called(node) in _FACTORIES else "other"


def _dtype(scene: Scene, value: Any) -> str:
    """The dtype of what was refused: of the live value, else of what `Parameter` was given."""
    frames: list[LiveFrame] = scene.live.frames if scene.live is not None else []
    inner = frames[-1] if frames else None
    if not is_tensor(value) and inner is not None and not inner.user:
        value = inner.locals.get("data")
    floating = not is_tensor(value) or value.is_floating_point() or value.is_complex()
    return "" if floating else str(value.dtype).removeprefix("torch.")
