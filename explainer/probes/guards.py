"""The guard of a raise in live frames: what had to hold, the values it met, the user's argument that it is about."""

from __future__ import annotations

import ast
import types
from typing import Any

from explainer.diagnosis import Span
from explainer.frozen import frozen
from explainer.grammar.guards import CHECKS, Guard, guard_at, leaves
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.tensor import fact_of
from explainer.probes.values import MISSING, is_module, is_tensor, read
from explainer.source import source_of


@frozen
class Guarded:
    """A guard with the values that it met, by the source of each, and where the user's code gave the wrong one."""

    guard: Guard
    values: tuple[tuple[str, str], ...]
    argument: Span | None
    tensors: bool


def guarded(scene: Scene) -> Guarded | None:
    """The guard of the raise that ended the scene; None where nothing guards it or its source is not to be had."""
    frames = scene.live.frames if scene.live is not None else []
    at = _raising(frames)
    if at is None:
        return None
    frame = frames[at]
    guard = guard_at(source_of(frame.file, frame.frame.f_globals), frame.line)
    if guard is None:
        return None
    nodes = leaves(guard.requirement)
    met = {ast.unparse(node): read(node, frame.frame) for node in nodes}
    shown = tuple((name, text) for name, value in met.items() if (text := _shown(name, value)) is not None)
    names = {name for node in nodes if (name := _root(node)) in guard.parameters and name != "self"}
    argument = _argument(frames[: at + 1], names)
    return Guarded(guard, shown, argument, any(is_tensor(one) or is_module(one) for one in _held(nodes, frame)))


def _raising(frames: list[LiveFrame]) -> int | None:
    """The frame whose guard raised: of `torch._check` the one that called it."""
    at = len(frames) - 1
    while at > 0 and frames[at].frame.f_code.co_name in CHECKS and not frames[at].user:
        at -= 1
    return at if at >= 0 else None


def _root(node: ast.expr) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        if isinstance(node, ast.Call):
            node = node.args[0] if isinstance(node.func, ast.Name) and node.args else node.func
        else:
            node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _held(nodes: list[ast.expr], frame: LiveFrame) -> list[Any]:
    return [frame.locals.get(_root(node)) for node in nodes]


def _shown(name: str, value: Any) -> str | None:
    """A value as it may be shown: plain ones, metadata of tensors and layers; of other objects their type."""
    if value is MISSING or isinstance(value, (types.ModuleType, types.FunctionType, type)):
        return None
    if value is None or type(value) in (int, float, bool):
        return repr(value)
    if type(value) is str:
        return repr(value) if len(value) <= 60 else None
    if type(value).__name__ == "Size" or (type(value) in (list, tuple) and _plain(value)):
        return str(list(value)) if type(value).__name__ == "Size" else str(value)
    return str(fact_of(name, value))


def _plain(values: Any) -> bool:
    return len(values) <= 12 and all(type(one) in (int, float, bool, str) for one in values) and len(str(values)) < 100


def _argument(frames: list[LiveFrame], names: set[str]) -> Span | None:
    """Where the user's code gave a parameter, followed from the raising function's frame up to the user's call."""
    if len(names) != 1 or frames[-1].user:
        return None
    name, inner = next(iter(names)), frames[-1]
    for outer in reversed(frames[:-1]):
        failing = outer.failing()
        call = _call(failing.node) if failing is not None else None
        if failing is None or call is None:
            return None
        if not outer.user and any(isinstance(one, ast.Starred) for one in call.args):
            continue  # a wrapper, that hands on what it was given
        node = _given(call, name, inner)
        if outer.user:
            return failing.source.span(node, name) if node is not None else None
        if not isinstance(node, ast.Name) or node.id not in outer.frame.f_code.co_varnames:
            return None
        name, inner = node.id, outer
    return None


def _call(node: ast.AST) -> ast.Call | None:
    while isinstance(node, (ast.Assign, ast.Return, ast.Expr)) and node.value is not None:
        node = node.value
    return node if isinstance(node, ast.Call) else None


def _given(call: ast.Call, name: str, inner: LiveFrame) -> ast.expr | None:
    """The argument that a call gives for a parameter of the function that it entered."""
    for word in call.keywords:
        if word.arg == name:
            return word.value
    code = inner.frame.f_code
    parameters = list(code.co_varnames[: code.co_argcount])
    if any(isinstance(one, ast.Starred) for one in call.args) or name not in parameters:
        return None
    place = parameters.index(name) - (parameters[:1] == ["self"])
    return call.args[place] if 0 <= place < len(call.args) else None
