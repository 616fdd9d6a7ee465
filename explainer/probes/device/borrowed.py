"""A model that a helper moved for its own use, and that its caller goes on with."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.device.misplaced import home_of
from explainer.probes.files import nodes_of
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import Source, called


@probe
def moved_along(scene: Scene) -> SpanFact | None:
    """The only call by which a function that ended before the crash moved a model which it was given, and used it.

    `detail`: `name` of the model there, `function` that moved it, `device` where it lies since.
    """
    home, running = home_of(scene), {frame.function.rpartition(".")[2] for frame in scene.crash.frames}
    found = [
        (source, call, function)
        for source, function in nodes_of(scene, ast.FunctionDef)
        if function.name not in running
        for call in _moves(function)
        if home is not None and _target(call) == home.partition(":")[0] and _borrows(source, function, call)
    ]
    if len(found) != 1:
        return None
    source, call, function = found[0]
    return span_fact(source, call, name=_owner(call), function=function.name, device=home)


def _moves(function: ast.FunctionDef) -> Iterator[ast.Call]:
    """The calls in a function that move one of its parameters to a device that they name."""
    given = {one.arg for one in [*function.args.args, *function.args.kwonlyargs]} - {"self"}
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and called(node) in ("to", "cpu", "cuda") and _owner(node) in given:
            yield node


def _owner(call: ast.Call) -> str:
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return owner.id if isinstance(owner, ast.Name) else ""


def _target(call: ast.Call) -> str:
    """The device that a move names: `x.cpu()`, `x.to("meta")`."""
    if called(call) != "to":
        return called(call)
    given = call.args[0] if call.args else None
    return str(given.value).partition(":")[0] if isinstance(given, ast.Constant) else ""


def _borrows(source: Source, function: ast.FunctionDef, call: ast.Call) -> bool:
    """Whether a function uses what it moved and hands back something else: its caller did not ask for the move."""
    statement = source.statement_at(call.lineno)
    names = {_owner(call)}
    if isinstance(statement, ast.Assign):
        names |= {one.id for one in statement.targets if isinstance(one, ast.Name)}
    nodes = list(ast.walk(function))
    returned = [one.value for one in nodes if isinstance(one, ast.Return) and one.value is not None]
    later = [one for one in nodes if isinstance(one, ast.Name) and one.id in names and one.lineno > call.lineno]
    tensor = any(isinstance(one, ast.Attribute) and one.attr in _OF_TENSORS and _reads(one, names) for one in nodes)
    return bool(later) and not tensor and not any(_handed(one) & names for one in returned)


def _handed(node: ast.expr) -> set[str]:
    """The names whose values a return hands back, on their own or in a tuple: `net`, `net.eval()`."""
    if isinstance(node, ast.Tuple):
        return {name for one in node.elts for name in _handed(one)}
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SELF:
        node = node.func.value
    return {node.id} if isinstance(node, ast.Name) else set()


#: Methods of a module that return it.
_SELF = ("to", "cpu", "cuda", "eval", "train", "half", "float", "requires_grad_")


_OF_TENSORS = ("shape", "size", "dim", "numpy", "item", "mean", "sum", "view")


def _reads(node: ast.Attribute, names: set[str]) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id in names
