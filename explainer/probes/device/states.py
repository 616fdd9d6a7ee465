"""Tensors made on the default device and used together: hidden states in a tuple, from a helper or from the caller."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.bindings import binding
from explainer.probes.call import call_node
from explainer.probes.device.misplaced import home_of
from explainer.probes.factories import is_factory
from explainer.probes.files import named
from explainer.probes.makers import assigned, bindings
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import is_tensor, read
from explainer.source import Source, called

Made = tuple[Source, ast.Call]
_Key = tuple[str, int, int]


@probe
def odd_operand(scene: Scene) -> SpanFact | None:
    """The operand of the failing call, a tensor or a tuple of them, that lies elsewhere than the model as a whole.

    `detail`: `device` and `home`, where it lies and where the model does; `several` whether it is a tuple or list;
    `near` the source of an operand that lies where the model does, "" for none.
    """
    found = _odd(scene)
    frame, failing, home = scene.user_frame, scene.failing, home_of(scene)
    if found is None or frame is None or failing is None:
        return None
    values = [(one, read(one, frame.frame)) for one in _given(failing.node)]
    near = [failing.source.text(one) for one, value in values if _devices(value) == {home} and is_tensor(value)]
    value = read(found, frame.frame)
    about: dict[str, Any] = {"device": _devices(value).pop(), "home": home, "several": not is_tensor(value)}
    return span_fact(failing.source, found, near=near[0] if near else "", **about)


def _odd(scene: Scene) -> ast.expr | None:
    frame, failing, home = scene.user_frame, scene.failing, home_of(scene)
    for node in _given(failing.node) if failing is not None and frame is not None and home is not None else ():
        devices = _devices(read(node, frame.frame))  # type: ignore[union-attr]
        if len(devices) == 1 and home not in devices:
            return node
    return None


def _given(node: ast.AST) -> list[ast.expr]:
    """The arguments of a call, also of one whose result a statement binds."""
    node = getattr(node, "value", node) if isinstance(node, ast.stmt) else node
    call = call_node(node)
    return [*call.args, *(word.value for word in call.keywords)] if isinstance(call, ast.Call) else []


def _devices(value: Any) -> set[str]:
    """Where a tensor, or the tensors of a tuple or list, lie; empty for anything else."""
    parts = [value] if is_tensor(value) else list(value) if type(value) in (tuple, list) else []
    return {str(one.device) for one in parts} if parts and all(is_tensor(one) for one in parts) else set()


@probe
def made_together(scene: Scene) -> tuple[SpanFact, ...] | None:
    """The factory calls without `device=`, of one function, that made what `odd_operand` is.

    Followed through names, `self`, the callers on the stack and functions of the user's. `detail.device` is what can
    be written there for the model's device, "" for none.
    """
    from explainer.edits.kinds.devices import devices_at
    from explainer.edits.place import Place

    odd, failing = _odd(scene), scene.failing
    frames = scene.live.user if scene.live is not None else []
    if odd is None or failing is None:
        return None
    found = list(_factories(scene, failing.source, odd, len(frames) - 1, set()))
    if not found:
        return None
    source, first = found[0]
    home = source.function_at(first.lineno)
    alike = [one for at, one in found if at.file == source.file and source.function_at(one.lineno) is home]
    alike = sorted({(one.lineno, one.col_offset): one for one in alike}.values(), key=lambda one: one.lineno)
    device = next((one for one in devices_at(Place(source, alike[0])) if one[:1] not in "\"'"), "")
    return tuple(span_fact(source, one, device=device) for one in alike)


@probe
def made_first(scene: Scene) -> SpanFact | None:
    """The first of `made_together`."""
    found = made_together(scene)
    return found[0] if found else None


def _factories(scene: Scene, source: Source, node: ast.AST, frame: int | None, seen: set[_Key]) -> Iterator[Made]:
    """The factory calls that an expression's value comes from, by the nearest of its names that lead to any."""
    key = (source.file, node.lineno, node.col_offset)  # type: ignore[attr-defined]
    if key in seen or len(seen) > 40:
        return
    seen.add(key)
    if isinstance(node, (ast.Tuple, ast.List)):
        for part in node.elts:
            yield from _factories(scene, source, part, frame, seen)
        return
    calls = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
    made = [(source, one) for one in calls if is_factory(one)]
    made = made or [one for call in calls for one in _inside(scene, call)]
    yield from made
    if not made:
        for one in ast.walk(node):
            if isinstance(one, (ast.Name, ast.Attribute)) and one is not getattr(node, "func", None):
                for home, value, at in _values(scene, source, one, frame):
                    yield from _factories(scene, home, value, at, seen)


def _inside(scene: Scene, call: ast.Call) -> list[Made]:
    """The factory calls in the only function of the user's that a call may mean by its name."""
    found = list(named(scene, ast.FunctionDef, called(call)))
    if len(found) != 1 or called(call) == "forward":
        return []
    source, function = found[0]
    return [(source, one) for one in ast.walk(function) if isinstance(one, ast.Call) and is_factory(one)]


def _values(scene: Scene, source: Source, node: Any, frame: int | None) -> Iterator[tuple[Source, ast.AST, int | None]]:
    """What a name or attribute may stand for: what its function assigns to it, what the caller on the stack passed."""
    found = list(bindings(scene, source, node))
    yield from ((home, value, frame) for home, value in found)
    passed = binding(scene, node, frame) if not found and frame is not None and isinstance(node, ast.Name) else None
    if passed is not None:
        yield passed.source, passed.node, passed.frame
        scope = passed.source.scope_at(passed.statement.lineno)
        for target in getattr(passed.statement, "targets", []):
            text = passed.source.text(target)
            yield from ((passed.source, value, passed.frame) for value in assigned(passed.source, scope, text))
