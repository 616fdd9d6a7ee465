"""What a custom autograd Function gives to `save_for_backward`: the call, and which of its arguments are no tensors."""

from __future__ import annotations

import ast
import types
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.call import call_node
from explainer.probes.files import sources
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import MISSING, is_tensor, read
from explainer.source import Source, called, source_of

#: Methods and attributes of tensors that are numbers or sizes.
_PLAIN = ("shape", "size", "dim", "ndim", "item", "numel", "tolist", "dtype", "device", "numpy")


@probe
def saved_plainly(scene: Scene) -> SpanFact | None:
    """The call of `save_for_backward` that was given what is no tensor, by the index that torch names.

    `detail`: `owner` (the class), `name` (the argument's source), `context` (forward's name for it), `at` (the
    positions of all arguments that are no tensors).
    """
    found = _class_and_source(scene)
    index = scene.captures.get("index")
    if found is None or type(index) is not int:
        return None
    source, owner = found
    calls = [one for one in ast.walk(owner) if isinstance(one, ast.Call) and called(one) == "save_for_backward"]
    if len(calls) != 1 or index >= len(calls[0].args) or any(isinstance(one, ast.Starred) for one in calls[0].args):
        return None
    call, given = calls[0], _given(scene, owner)
    plain = [at for at, one in enumerate(call.args) if at == index or _no_tensor(one, given)]
    context = source.text(call.func.value)  # type: ignore[attr-defined]
    name = source.text(call.args[index])
    return span_fact(source, call, owner=owner.name, name=name, context=context, at=tuple(plain))


def _class_and_source(scene: Scene) -> tuple[Source, ast.ClassDef] | None:
    """The class whose `apply` failed, where it is written; else the only one of the user's that saves anything."""
    live = _live_class(scene)
    forward = vars(live).get("forward") if live is not None else None
    code = getattr(getattr(forward, "__func__", forward), "__code__", None)
    files = [source_of(code.co_filename)] if code is not None else sources(scene)
    found = [
        (source, node)
        for source in files
        for node in source.nodes()
        if isinstance(node, ast.ClassDef) and "save_for_backward" in source.text(node)
        if live is None or node.name == live.__name__
    ]
    return found[0] if len(found) == 1 else None


def _live_class(scene: Scene) -> type | None:
    """The class of `Shrink` in `Shrink.apply(x)`, also where `apply` has another name."""
    failing, frame = scene.failing, scene.user_frame
    call = call_node(failing.node) if failing is not None else None
    if frame is None or not isinstance(call, ast.Call):
        return None
    function = call.func
    if isinstance(function, ast.Attribute) and function.attr == "apply":
        owner = read(function.value, frame.frame)
    else:
        bound = read(function, frame.frame)
        owner = bound.__self__ if isinstance(bound, (types.BuiltinMethodType, types.MethodType)) else None
    return owner if isinstance(owner, type) else None


def _given(scene: Scene, owner: ast.ClassDef) -> dict[str, Any]:
    """What forward's parameters were in the failing call, as far as that can be read."""
    failing, frame = scene.failing, scene.user_frame
    call = call_node(failing.node) if failing is not None else None
    methods = {one.name: one for one in owner.body if isinstance(one, ast.FunctionDef)}
    if frame is None or not isinstance(call, ast.Call) or "forward" not in methods:
        return {}
    names = [one.arg for one in methods["forward"].args.args]
    values = [read(one, frame.frame) for one in call.args if not isinstance(one, ast.Starred)]
    return dict(zip(names if "setup_context" in methods else names[1:], values, strict=False))


def _no_tensor(node: ast.expr, given: dict[str, Any]) -> bool:
    """Whether an argument is a number, a size or a string, as its source or the live call shows."""
    if isinstance(node, ast.Constant):
        return node.value is not None
    if isinstance(node, ast.Name):
        value = given.get(node.id, MISSING)
        return value is not MISSING and value is not None and not is_tensor(value)
    while isinstance(node, (ast.Subscript, ast.Call)):
        if isinstance(node, ast.Call) and called(node) in ("len", "int", "float", "tuple", "list", *_PLAIN):
            return True
        node = node.value if isinstance(node, ast.Subscript) else node.func
    return isinstance(node, ast.Attribute) and node.attr in _PLAIN
