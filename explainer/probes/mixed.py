"""Of operands that torch does not take together: which is a DTensor, and which a plain tensor."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, Literal

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.call import Operand, operands
from explainer.probes.factories import is_factory
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import MISSING, is_tensor, read

#: A DTensor, a plain tensor, no tensor at all, or not known.
Kind = Literal["DTensor", "plain", "none", ""]
_OTHER: dict[Kind, Kind] = {"DTensor": "plain", "plain": "DTensor"}
#: Methods that make a plain tensor of a DTensor.
_GATHERING = ("full_tensor", "to_local")


@probe
def mixed_operands(scene: Scene) -> SpanFact | None:
    """The plain tensor of a call that got a DTensor too (`detail.sharded`, its text); `detail.shape` is empty or `[3]`.

    Values that nothing names are known by what made them: a method or attribute of a DTensor, a factory of torch. Of
    two operands with one unknown, that one is of the other kind.
    """
    frame, failing = scene.user_frame, scene.failing
    if frame is None or failing is None:
        return None
    given = operands(scene)
    kinds = _completed([_kind_of(one, lambda node: read(node, frame.frame)) for one in given])
    if "plain" not in kinds or "DTensor" not in kinds:
        return None
    plain, sharded = given[kinds.index("plain")], given[kinds.index("DTensor")]
    if plain.node is None:
        return None
    shape = str(list(plain.value.shape)) if is_tensor(plain.value) else ""
    return span_fact(failing.source, plain.node, sharded=sharded.name, shape=shape)


def _completed(kinds: Sequence[Kind]) -> list[Kind]:
    """Where one tensor is left unknown beside one that is known: the other kind."""
    tensors = [kind for kind in kinds if kind != "none"]
    known = [kind for kind in tensors if kind]
    if len(tensors) == 2 and len(known) == 1:
        return [kind or _OTHER[known[0]] for kind in kinds]
    return list(kinds)


def _kind_of(operand: Operand, live: Callable[[ast.AST], Any]) -> Kind:
    return _of_value(operand.value) if operand.value is not MISSING else _made(operand.node, live)


def _of_value(value: Any) -> Kind:
    if not is_tensor(value):
        return "none"
    return "DTensor" if type(value).__name__ == "DTensor" else "plain"


def _made(node: ast.AST | None, live: Callable[[ast.AST], Any]) -> Kind:
    """The kind of a value that can be told by the expression that made it."""
    if isinstance(node, ast.Call) and (is_factory(node) or getattr(node.func, "attr", "") in _GATHERING):
        return "plain"
    owner = node.func if isinstance(node, ast.Call) else node
    if not isinstance(owner, ast.Attribute):
        return ""
    value = live(owner.value)
    kind = _of_value(value) if value is not MISSING else _made(owner.value, live)
    return "" if kind == "none" else kind
