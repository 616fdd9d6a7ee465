"""A value that is no tensor and holds none, where one is due: an array, a number, a layer, a method, or nothing."""

from __future__ import annotations

import ast
import types
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.bindings import binding
from explainer.probes.call import call_node, operands
from explainer.probes.module import module_calls
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import MISSING, is_module, is_tensor, read
from explainer.source import Source, source_of
from explainer.userframes import is_user_file

_METHODS = (types.BuiltinFunctionType, types.MethodType, types.FunctionType)
#: Methods of lists, dicts and sets that change them and return nothing.
_CHANGING = ("append", "extend", "insert", "sort", "reverse", "update", "add", "clear", "remove")


@probe
def untensored(scene: Scene) -> SpanFact | None:
    """The expression to make a tensor of, with `detail`.

    `kind` is array, number, list, layer or method, `got` the type's name, `name` what the failing line calls the value,
    `new` what to write in its place.
    """
    found = _wrong(scene)
    if found is None:
        return None
    node, value = found
    source = scene.failing.source  # type: ignore[union-attr]
    kind = _kind(value)
    at, place = _entered(scene, value) or (source, node)
    if kind in ("layer", "method"):
        bound = binding(scene, node, len(scene.live.user) - 1)  # type: ignore[union-attr]
        at, place = (bound.source, bound.node) if bound is not None and bound.part is None else (source, node)
    new = _made_tensor(at.text(place), kind, value, place)
    names = {"kind": kind, "got": type(value).__name__, "name": source.text(node), "new": new}
    return span_fact(at, place, names["name"], **names) if kind and new else None


def _wrong(scene: Scene) -> tuple[ast.expr, Any] | None:
    """The failing call's first operand that is no tensor and of the type which the message names."""
    named = scene.captures.get("got") or scene.captures.get("right") or ""
    got = str(named).partition(",")[0].rpartition(".")[2]
    known = [one for one in operands(scene) if isinstance(one.node, ast.expr) and one.value is not MISSING]
    wrong = [one for one in known if not is_tensor(one.value) and got.startswith(type(one.value).__name__)]
    return (wrong[0].node, wrong[0].value) if wrong else None  # type: ignore[return-value]


def _kind(value: Any) -> str:
    if type(value).__module__ == "numpy" and hasattr(type(value), "shape"):
        return "array"
    if is_module(value):
        return "layer"
    if isinstance(value, _METHODS):
        return "method"
    if type(value) in (list, tuple):
        return "list" if value and _numbers(value) else ""
    return "number" if type(value) in (int, float) else ""


def _numbers(value: Any) -> bool:
    """Whether lists hold numbers alone, as deep as they go."""
    if type(value) in (list, tuple):
        return all(_numbers(one) for one in value[:100])
    return type(value) in (int, float, bool)


def _made_tensor(text: str, kind: str, value: Any, node: ast.AST) -> str:
    """The source of the tensor that is meant; empty where that cannot be told."""
    if kind == "array":
        floats = "float" in str(value.dtype)
        return f"torch.as_tensor({text}, dtype=torch.float32)" if floats else f"torch.as_tensor({text})"
    if kind in ("number", "list"):
        return f"torch.tensor({text})"
    if kind == "method":
        return f"{text}()" if isinstance(node, ast.Attribute) else ""
    if kind == "layer" and isinstance(node, ast.Call) and node.args:
        given = text[len(ast.unparse(node.func)) :]
        return f"{ast.unparse(node.func)}(){given}" if text.startswith(ast.unparse(node.func)) else ""
    return ""


def _entered(scene: Scene, value: Any) -> tuple[Source, ast.expr] | None:
    """The argument of the outermost model that was called with a value, as the user's call writes it."""
    for one in module_calls(scene):
        at = next((number for number, given in enumerate(one.args) if given is value), None)
        frame = scene.live.frames[one.index - 1] if scene.live is not None and one.index > 0 else None
        if at is None or frame is None or not frame.user:
            continue
        failing = frame.failing()
        call = call_node(failing.node) if failing is not None else None
        if failing is not None and isinstance(call, ast.Call) and at < len(call.args):
            return failing.source, call.args[at]
    return None


@probe
def returnless(scene: Scene) -> SpanFact | None:
    """The last statement of the function that gave None where a tensor is due; `detail` has `function` and `how`.

    `how` is none (it has no `return` of a value), some (it can end without one) or method (`x = rows.append(y)`, a
    method of a list, whose statement this is; `detail.call` is the call).
    """
    found = _nothing(scene)
    bound = binding(scene, found, len(scene.live.user) - 1) if found is not None else None  # type: ignore[union-attr]
    node = bound.node if bound is not None and bound.part is None else found
    source = bound.source if bound is not None else getattr(scene.failing, "source", None)
    number = bound.frame if bound is not None else len(scene.live.user) - 1 if scene.live else None
    if not isinstance(node, ast.Call) or source is None or number is None or scene.live is None:
        return None
    called = read(node.func, scene.live.user[number].frame)
    if bound is not None and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGING:
        owner = read(node.func.value, scene.live.user[number].frame)
        if type(owner) in (list, dict, set):
            names = {"function": source.text(node.func), "how": "method", "call": source.text(node)}
            return span_fact(source, bound.statement, **names)
    return _unreturned(called)


def _nothing(scene: Scene) -> ast.expr | None:
    """The expression of the failing line that is None: an operand, or the owner of an attribute."""
    failing, frame = scene.failing, scene.user_frame
    if failing is None or frame is None or "NoneType" not in scene.crash.message:
        return None
    name = scene.captures.get("name")
    for node in ast.walk(failing.node):
        if isinstance(node, ast.Attribute) and node.attr == name:
            return node.value if read(node.value, frame.frame) in (None, MISSING) else None
    known = operands(scene)
    wrong = [one.node for one in known if one.value is None and not isinstance(one.node, ast.Constant)]
    if not wrong and len(known) == 2:  # what a call gave is not kept: the message names its side
        sides = zip(known, (scene.captures.get("left"), scene.captures.get("right")), strict=True)
        wrong = [one.node for one, kind in sides if kind == "NoneType" and one.value is MISSING]
    return wrong[0] if len(wrong) == 1 and isinstance(wrong[0], ast.expr) else None


def _unreturned(called: Any) -> SpanFact | None:
    """The last statement of a function, or of a module's forward, that can end without returning a value."""
    function = getattr(type(called), "forward", None) if is_module(called) else called
    code = getattr(function, "__code__", None)
    if code is None or not is_user_file(code.co_filename):
        return None
    source = source_of(code.co_filename)
    node = source.function_at(code.co_firstlineno)
    if not isinstance(node, ast.FunctionDef):
        return None
    from explainer.probes.dataloader.samples import can_end, returns_of

    given = [one for one in returns_of(node) if one.value is not None]
    bare = [one for one in returns_of(node) if one.value is None]
    if bare or not can_end(node.body):
        return None
    owner = type(called).__name__ + "." if is_module(called) else ""
    return span_fact(source, node.body[-1], function=f"{owner}{node.name}", how="some" if given else "none", call="")
