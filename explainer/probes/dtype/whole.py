"""Whole numbers that are to require grad: the expression that makes them, as a parameter, an input or new data."""

from __future__ import annotations

import ast
from typing import Any

from explainer.edits.place import Place, as_primary
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
    `other`), `dtype` where it is known ("int64", else ""), `asked`, the expression that wants the gradients, `tracked`,
    whether these are data at hand, no number that is made as a parameter.
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
    tracked = _form(node) == "other" and _receiver(asked) is not None
    asks = failing.source.text(asked)
    return span_fact(failing.source, node, form=_form(node), dtype=dtype, asked=asks, tracked=tracked)


@probe
def whole_input(scene: Scene) -> SpanFact | None:
    """The expression behind which data of whole numbers become floating point: `x` of `x.requires_grad_()`.

    Of a name it is what the function bound it to last. `detail`: `name`, what is to require grad; `asked`; `dtype`;
    `statement`, whether a statement of its own has to convert it: the name is a parameter, written to in place; else
    `floating`, the expression converted.
    """
    failing, frame = scene.failing, scene.user_frame
    asked = call_node(failing.node) if failing is not None else None
    node = _receiver(asked)
    if failing is None or frame is None or asked is None or node is None:
        return None
    name, dtype = failing.source.text(node), _dtype(scene, read(node, frame.frame))
    bound = last_binding(failing.source, frame, name) if isinstance(node, ast.Name) else None
    made = bound.value if isinstance(bound, ast.Assign) and isinstance(bound.targets[0], ast.Name) else None
    statement = failing.source.statement_at(frame.line)
    alone = made is None and isinstance(node, ast.Name) and statement is not None and _written(statement, asked)
    place = made if made is not None else statement if alone else node
    if place is None:
        return None
    floating = f"{as_primary(Place(failing.source, place))}.float()" if isinstance(place, ast.expr) else ""
    asks = failing.source.text(asked)
    return span_fact(failing.source, place, name=name, asked=asks, dtype=dtype, statement=alone, floating=floating)


def _written(statement: ast.stmt, asked: ast.AST) -> bool:
    """Whether a statement does no more than ask for gradients: what it is given stays what it was."""
    return isinstance(statement, ast.Assign) or (isinstance(statement, ast.Expr) and statement.value is asked)


def _receiver(asked: ast.AST | None) -> ast.expr | None:
    """`x` of `x.requires_grad_()` and of `x.requires_grad = True`."""
    if isinstance(asked, ast.Attribute) and asked.attr == "requires_grad":
        return asked.value
    named = isinstance(asked, ast.Call) and called(asked) == "requires_grad_"
    return asked.func.value if named and isinstance(asked.func, ast.Attribute) else None  # type: ignore[union-attr]


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
