"""The argument of a call that its signature refuses: from the message, and in live frames from the function itself."""

from __future__ import annotations

import ast
import glob
import inspect
import os
import types
from typing import Any

from explainer.diagnosis import Span
from explainer.frozen import frozen
from explainer.grammar.guards import torchs_folder
from explainer.grammar.signatures import Misfit, alike, misfit, unknown_keyword
from explainer.patterns import Pattern
from explainer.probes import probe
from explainer.probes.scene import Scene
from explainer.probes.values import MISSING, is_tensor, read
from explainer.source import Source, source_of

#: `zeros(*size, *, out=None, dtype=None) -> Tensor`: how the documentation of a builtin begins.
_DOCUMENTED = Pattern(r"^\s*(?:\w+\.)*\w+\(([^)]*(?:\([^)]*\)[^)]*)*)\)")
_NAME = Pattern(r"^\*{0,2}([A-Za-z_]\w*)")
#: Where torch defines the classes whose constructors programs call.
_HOMES = ("optim", os.path.join("nn", "modules"), os.path.join("utils", "data"), os.path.join("nn", "parallel"), "amp")


@frozen
class Refused:
    """A misfit where it stands in the user's code; `repaired` is the call as it is meant, if that is clear."""

    misfit: Misfit
    span: Span | None = None
    argument: Span | None = None
    repaired: str | None = None


@probe
def refused_argument(scene: Scene) -> Refused | None:
    """The one argument that does not fit the call's nearest form; without live frames from the message alone."""
    named = unknown_keyword(scene.crash.message)
    call, source = _call(scene)
    if named is None:
        found = misfit(scene.crash.message)
    else:
        names = _parameters(scene, call) if scene.live is not None else _of_class(named[0])
        better = alike(named[1], names)
        told = better if scene.live is None else names  # a paste may be of a version that lacks the name
        found = Misfit(named[0], "keyword", named[1], better=better) if told else None
    if found is None or call is None or source is None:
        return Refused(found) if found is not None else None
    node = _argument(call, found)
    repaired = _repaired(call, node, found, source) if node is not None else None
    return Refused(found, source.span(call), source.span(node) if node is not None else None, repaired)


def torchs_keyword(scene: Scene) -> tuple[str, str] | None:
    """A keyword that one of torch's functions does not have, in the user's failing line: the function, the keyword."""
    named = unknown_keyword(scene.crash.message)
    if named is None or scene.live is None or not scene.live.frames or not scene.live.frames[-1].user:
        return None
    call, _ = _call(scene)
    return named if call is not None and _parameters(scene, call) else None


def _call(scene: Scene) -> tuple[ast.Call | None, Source | None]:
    failing = scene.failing if scene.live is not None else None
    node: Any = failing.node if failing is not None else None
    while isinstance(node, (ast.Assign, ast.AnnAssign, ast.Return, ast.Expr)) and node.value is not None:
        node = node.value
    return (node, failing.source) if isinstance(node, ast.Call) and failing is not None else (None, None)


def _parameters(scene: Scene, call: ast.Call | None) -> list[str]:
    """The parameters of the function of torch's that a call names; none where it is somebody else's."""
    frame = scene.user_frame
    if call is None or frame is None:
        return []
    function = read(call.func, frame.frame)
    if function is MISSING and isinstance(call.func, ast.Attribute):
        owner = read(call.func.value, frame.frame)
        function = getattr(type(owner), call.func.attr, MISSING) if is_tensor(owner) else MISSING
    if not _is_torchs(function):
        return []
    target = inspect.getattr_static(function, "__init__") if isinstance(function, type) else function
    if isinstance(target, types.FunctionType):
        return [name for name in inspect.signature(target).parameters if name != "self"]
    found = _DOCUMENTED.match(str(getattr(function, "__doc__", None) or ""))
    return [name[1] for part in (found[1].split(",") if found else ()) if (name := _NAME.match(part.strip()))]


def _of_class(call: str) -> list[str]:
    """The parameters of a constructor (`Adam.__init__`), as the source of the torch that is installed lists them."""
    name, _, method = call.partition(".")
    folder = torchs_folder() if method == "__init__" and name.isidentifier() else None
    for file in [one for home in _HOMES for one in glob.glob(os.path.join(folder, home, "*.py"))] if folder else ():
        source = source_of(file)
        if not any(line.startswith((f"class {name}(", f"class {name}:")) for line in source.lines):
            continue
        for node in source.nodes():
            owner = source.class_at(node.lineno) if isinstance(node, ast.FunctionDef) else None
            if isinstance(node, ast.FunctionDef) and node.name == method and owner is not None and owner.name == name:
                return [one.arg for one in (*node.args.args[1:], *node.args.kwonlyargs)]
    return []


def _is_torchs(function: Any) -> bool:
    if isinstance(function, (type, types.FunctionType)):
        return str(function.__module__).startswith("torch.") or function.__module__ == "torch"
    return isinstance(function, (types.BuiltinFunctionType, types.MethodDescriptorType)) and (
        "torch" in str(getattr(function, "__module__", "")) + str(getattr(function, "__objclass__", ""))
        + str(type(getattr(function, "__self__", None)))
    )  # fmt: skip


def _argument(call: ast.Call, found: Misfit) -> ast.expr | ast.keyword | None:
    """The node of the argument that does not fit."""
    for word in call.keywords:
        if word.arg == found.name:
            return word
    if found.place is None or any(isinstance(one, ast.Starred) for one in call.args):
        return None
    if len(call.args) == 1 and isinstance(call.args[0], (ast.Tuple, ast.List)) and found.place > 0:
        inside = call.args[0].elts
        return inside[found.place] if found.place < len(inside) else None
    return call.args[found.place] if found.place < len(call.args) else None


def _repaired(call: ast.Call, node: ast.expr | ast.keyword, found: Misfit, source: Source) -> str | None:
    """The call with another keyword, or with a positional argument moved to the keyword that takes it."""
    name = found.better or found.belongs
    if name is None or any(word.arg == name for word in call.keywords):
        return None
    value = source.text(node.value if isinstance(node, ast.keyword) else node)
    given = [f"{name}={value}" if one is node else source.text(one) for one in (*call.args, *call.keywords)]
    if not isinstance(node, ast.keyword):
        given = [_without(one, node, source) for one in call.args if one is not node]
        given += [*map(source.text, call.keywords), f"{name}={value}"]
    return f"{source.text(call.func)}({', '.join(given)})"


def _without(argument: ast.expr, node: ast.expr, source: Source) -> str:
    """An argument's source, without an element that moves elsewhere."""
    if not isinstance(argument, (ast.Tuple, ast.List)) or node not in argument.elts:
        return source.text(argument)
    kept = ", ".join(source.text(one) for one in argument.elts if one is not node)
    comma = "," if isinstance(argument, ast.Tuple) and len(argument.elts) == 2 else ""
    return f"({kept}{comma})" if isinstance(argument, ast.Tuple) else f"[{kept}]"
