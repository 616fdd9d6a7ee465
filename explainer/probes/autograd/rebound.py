"""Leaves that an update by hand replaced by a result: `w = w - lr * w.grad`, and what can be done about it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.facts import SpanFact, TensorFact
from explainer.probes import probe
from explainer.probes.autograd.leaves import as_leaf
from explainer.probes.files import sources
from explainer.probes.origin import last_binding
from explainer.probes.places import enclosing, span_fact
from explainer.probes.scene import Scene
from explainer.source import Source, called

_LOOPS: Any = (ast.For, ast.AsyncFor, ast.While)


@probe
def updates_by_hand(scene: Scene, of: TensorFact | None = None) -> tuple[SpanFact, ...] | None:
    """The assignments of a function that compute a tensor from itself and its gradient, that of `of` first.

    The others stand in the same function. `detail`: `name` (what is assigned to), `zeroed` (its gradient is set to zero
    in place, or to None, so it is meant to stay the same leaf).
    """
    found = [(source, one) for source in sources(scene) for one in _updates(source)]
    own = [(source, one) for source, one in found if of is not None and _name(source, one) == of.name]
    chosen = own or (found if len(found) == 1 else [])
    if of is None or not chosen:
        return None
    source, first = chosen[-1]
    scope = source.function_at(first.lineno)
    beside = [one for home, one in found if home is source and source.function_at(one.lineno) is scope]
    return tuple(_fact(source, one) for one in (first, *(one for one in beside if one is not first)))


def _updates(source: Source) -> Iterator[ast.Assign]:
    """The statements that are `x = f(x, x.grad)`."""
    for node in source.nodes():
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.value, (ast.BinOp, ast.Call)):
            named = (ast.Name, ast.Attribute, ast.Subscript)
            read = {source.text(one) for one in ast.walk(node.value) if isinstance(one, named)}
            if {_name(source, node), f"{_name(source, node)}.grad"} <= read:
                yield node


def _name(source: Source, node: ast.Assign) -> str:
    return source.text(node.targets[0])


def _fact(source: Source, node: ast.Assign) -> SpanFact:
    name = _name(source, node)
    return span_fact(source, node, name=name, zeroed=_zeroed(source, node))


def _zeroed(source: Source, update: ast.Assign) -> bool:
    """Whether something in the file sets a gradient to zero in place, or an update's own gradient to None."""
    for node in source.nodes():
        if isinstance(node, ast.Call) and called(node) == "zero_" and ".grad" in source.text(node.func):
            return True
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(source.text(one) == f"{_name(source, update)}.grad" for one in targets):
            return True
    return False


@probe
def last_updates(scene: Scene, of: tuple[SpanFact, ...] | None = None) -> tuple[SpanFact, ...] | None:
    """The values that each updated tensor is last assigned in the loop around its update: there it must be a leaf."""
    if not of:
        return None
    return tuple(fact for one in of for fact in _last(scene, one))


def _last(scene: Scene, update: SpanFact) -> Iterator[SpanFact]:
    source = scene.source(update.span.file)
    if source is None:
        return
    loops = enclosing(source, update.span.line, _LOOPS)
    last = loops[0].end_lineno if loops else update.span.line
    bound = [
        one
        for one in source.nodes()
        if isinstance(one, ast.Assign) and len(one.targets) == 1 and _name(source, one) == update["name"]
        and update.span.line <= one.lineno <= (last or 0)
    ]  # fmt: skip
    if bound:
        yield span_fact(source, max(bound, key=lambda one: one.lineno).value)


@probe
def computed_leaf(scene: Scene, of: TensorFact | None = None) -> SpanFact | None:
    """The value that a tensor's name was bound to, where it is computed from one that was made to require grad.

    `torch.randn(3, requires_grad=True) * 2` is a result; `detail.leaf` is the same value as a leaf.
    """
    frame, failing = scene.user_frame, scene.failing
    if of is None or frame is None or failing is None:
        return None
    bound = last_binding(failing.source, frame, of.name)
    value = bound.value if isinstance(bound, ast.Assign) else None
    inner = [one for one in ast.walk(value) if _requires(failing.source, one)] if value is not None else []
    if value is None or not inner or inner == [value]:
        return None
    return span_fact(failing.source, value, leaf=as_leaf(failing.source, value))


def _requires(source: Source, node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    return called(node) == "requires_grad_" or any(source.text(one) == "requires_grad=True" for one in node.keywords)


@probe
def cleared_before(scene: Scene) -> SpanFact | None:
    """The `zero_grad()` that stands after backward and before the failing line, in the same function."""
    zero, backward = (_call_above(scene, name) for name in ("zero_grad", "backward"))
    after = zero is not None and backward is not None and zero.span.line > backward.span.line
    return zero if after else None


@probe
def backward_above(scene: Scene) -> SpanFact | None:
    """The last call of backward above the failing line, in the same function."""
    return _call_above(scene, "backward")


def _call_above(scene: Scene, name: str) -> SpanFact | None:
    """The last statement above the failing line, in its function, that calls a method for its effect."""
    frame, failing = scene.user_frame, scene.failing
    scope = failing.source.scope_at(frame.line) if frame and failing else None
    found = [
        one
        for one in (ast.walk(scope) if scope is not None else ())
        if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call) and called(one.value) == name
        and one.lineno < frame.line  # type: ignore[union-attr]
    ]  # fmt: skip
    last = max(found, key=lambda one: one.lineno, default=None)
    return span_fact(failing.source, last) if last is not None and failing is not None else None


@probe
def cleared_first(scene: Scene, of: TensorFact | None = None) -> SpanFact | None:
    """The statement that sets the gradient of a leaf to zero before any backward has run."""
    frame, failing = scene.user_frame, scene.failing
    if of is None or frame is None or failing is None or not of.is_leaf or not of.requires_grad:
        return None
    statement = failing.source.statement_at(frame.line)
    call = statement.value if isinstance(statement, ast.Expr) else None
    zero = isinstance(call, ast.Call) and called(call) == "zero_"
    return span_fact(failing.source, statement) if zero and statement is not None else None
