"""Edits that wrap or unwrap an expression: insert-method, delete-method, wrap-call, replace-call, only-if, inline."""

from __future__ import annotations

import ast
import dataclasses

from explainer.diagnosis import Edit
from explainer.edits.lines import EditError, changed
from explainer.edits.place import Place, as_primary, enclosed, replaced_each
from explainer.patterns import Pattern
from explainer.source import called

#: Methods whose result is, or may be, a copy.
_COPIES = Pattern(r"(to|type|float|double|half|bfloat16|long|int|short|byte|bool|cpu|cuda|clone|contiguous)\b")


def insert_method(at: Place, method: str) -> tuple[Edit, ...]:
    """`x` -> `x.float()`: a method call, or an index like `[:, None]`, put behind an expression."""
    place = _expression(at)
    if _COPIES.match(method) and _only_written(place):
        raise EditError("what is written would go into a copy")
    joint = "" if method.startswith("[") else "."
    call = method if method.endswith((")", "]")) else f"{method}()"
    if as_primary(place) != place.text and enclosed(place):
        end = dataclasses.replace(place.span, line=place.span.end_line or 0, column=(place.span.end_column or 0) + 1)
        end = dataclasses.replace(end, end_column=end.column)
        return changed(place.source, [(end, f"{joint}{call}")])
    return changed(place.source, [(place.span, f"{as_primary(place)}{joint}{call}")])


def _only_written(place: Place) -> bool:
    """Whether an expression is there to be written into: `x` of the statement `x.lerp_(y, 0.1)`."""
    method = place.parent()
    call = place.at(method).parent() if isinstance(method, ast.Attribute) and method.value is place.node else None
    if not isinstance(call, ast.Call) or not called(call).endswith("_") or called(call).endswith("__"):
        return False
    return isinstance(place.at(call).parent(), ast.Expr)


def insert_methods(each: tuple[Place, ...], method: str) -> tuple[Edit, ...]:
    """`a[:, 0]`, `a[:, 1]` -> `a[:, 0].long()`, `a[:, 1].long()`: one method put behind several expressions."""
    return replaced_each(each, lambda one: f"{as_primary(one)}.{method}")


def delete_method(at: Place) -> tuple[Edit, ...]:
    """`x.detach()` -> `x`: a method call taken off its receiver."""
    node = at.node
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        raise EditError("no method call stands here")
    head = at.source.text(node.func)
    return changed(at.source, [(at.span, head[: len(head) - len(node.func.attr)].rstrip()[:-1].rstrip())])


def wrap_call(at: Place, function: str, arguments: str = "") -> tuple[Edit, ...]:
    """`x` -> `torch.sqrt(x, eps)`: an expression made the first argument of a call."""
    place = _expression(at)
    more = f", {arguments}" if arguments else ""
    return changed(place.source, [(place.span, f"{function}({place.text}{more})")])


def replace_call(call: Place, to: str) -> tuple[Edit, ...]:
    """`torch.cat(x)` -> `torch.stack(x)`: another function, the arguments kept. `to` is a name or a dotted one."""
    node = call.node
    if not isinstance(node, ast.Call):
        raise EditError("no call stands here")
    function = node.func
    if isinstance(function, ast.Attribute) and "." not in to:
        return changed(call.source, [(call.source.span(node), _renamed(call, function, to))])
    return changed(call.source, [(call.source.span(function), to)])


def only_if(at: Place, condition: str, word: str = "if") -> tuple[Edit, ...]:
    """`p.grad for p in params` -> `... params if p.grad is not None`: a condition at the end of a comprehension."""
    return changed(at.source, [(at.span, f"{at.text} {word} {condition}")])


def _renamed(call: Place, function: ast.Attribute, to: str) -> str:
    """The call's text with its last name changed; the rest, line breaks and all, as it is."""
    head = call.source.text(function)
    return head[: len(head) - len(function.attr)] + to + call.text[len(head) :]


def _expression(at: Place) -> Place:
    """The expression of a place: of an assignment or return its value."""
    node = at.node
    while isinstance(node, (ast.Assign, ast.AnnAssign, ast.Return, ast.Expr, ast.AugAssign)) and node.value is not None:
        node = node.value
    if not isinstance(node, ast.expr):
        raise EditError("no expression stands here")
    if isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
        raise EditError("this is assigned to, not read")
    return at.at(node)
