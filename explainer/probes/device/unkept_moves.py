"""Moves whose result nobody keeps: `x.to(device)` as a statement, for each part of a batch, or by a helper."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

from explainer.facts import SpanFact, TensorFact
from explainer.frozen import frozen
from explainer.probes import probe
from explainer.probes.places import span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.values import MISSING, attribute, base_of, is_module, is_tensor, read, torch_module
from explainer.source import Source, called, loaded, source_of, stored
from explainer.userframes import is_user_file

_MOVES = ("to", "cuda")
_LISTED = (ast.ListComp, ast.DictComp)
_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@frozen
class View:
    """A function whose statements are looked at: those above a line, its names read by `read`.

    `given` are the names that the frame which crashed, or its caller, has for the function's own.
    """

    source: Source
    scope: ast.AST
    line: int
    read: Callable[[ast.AST], Any]
    failing: frozenset[str]
    given: dict[str, set[str]]


@frozen
class Unkept:
    """A statement that drops what a move gives, and the tensors that it was to move."""

    source: Source
    statement: ast.Expr
    tensors: tuple[Any, ...]
    near: bool


@probe
def unkept_move(scene: Scene, of: TensorFact | None = None) -> SpanFact | None:
    """The statement that was to move the tensor of a fact, or the batch that it came in, and keeps nothing of it.

    `detail.what`: what it moves.
    """
    odd = scene.objects.get(of.name) if of is not None else None
    found = _found(scene, of)
    first = next((one for one in found if any(_same(odd, tensor) for tensor in one.tensors)), None)
    near = next((one for one in found if one.near), None) if of is not None and "self." not in of.name else None
    best = first or near
    return span_fact(best.source, best.statement, what=_moved(best)) if best is not None else None


@probe
def unkept_moves(scene: Scene, of: TensorFact | None = None) -> tuple[SpanFact, ...] | None:
    """All statements that drop moved tensors on the way of the program to its crash."""
    return tuple(span_fact(one.source, one.statement) for one in _found(scene, of)) or None


def _moved(one: Unkept) -> str:
    call = _call(one.statement)
    moves = isinstance(call.func, ast.Attribute) and call.func.attr in _MOVES
    return one.source.text(call.func.value if moves else call.args[0])  # type: ignore[attr-defined]


def _found(scene: Scene, of: TensorFact | None) -> list[Unkept]:
    device = of.device.partition(":")[0] if of is not None else ""
    every = scene.once(("unkept", device), lambda: list(_unkept(scene, device)))
    return list({(one.source.file, one.statement.lineno): one for one in every or ()}.values())


def _unkept(scene: Scene, device: str) -> Iterator[Unkept]:
    for view in _views(scene):
        for statement in _statements(view):
            tensors = tuple(_to_move(view, statement, device)) if isinstance(statement, ast.Expr) else ()
            if isinstance(statement, ast.Expr) and any(one.device.type == device for one in tensors):
                yield Unkept(view.source, statement, tensors, _near(view, statement))


def _near(view: View, statement: ast.AST) -> bool:
    """Whether the expression that failed in the frame reads what a statement was to move, or what was given for it."""
    call = _call(statement)
    moved = [call.func.value] if isinstance(call.func, ast.Attribute) and call.func.attr in _MOVES else call.args[:1]
    loops = [loop.iter for loop in _loops(view, statement) if stored(loop.target) & loaded(moved[0])]
    names = {name for one in (*moved, *loops) for name in loaded(one)} - {"self"}
    return any(view.given.get(name, {name}) & view.failing for name in names)


def _views(scene: Scene) -> Iterator[View]:
    """The user's functions on the stack, the functions that they had called, the class of the object that failed."""
    for frame in reversed(scene.live.user if scene.live is not None else []):
        source, failing = scene.source(frame.file), frame.failing()
        if source is None or source.tree is None or failing is None:
            continue
        reads = _reader(frame)
        view = View(source, source.scope_at(frame.line), frame.line, reads, frozenset(loaded(failing.node)), {})
        yield view
        yield from _helpers(scene, view)
    yield from _methods(scene)


def _reader(frame: LiveFrame) -> Callable[[ast.AST], Any]:
    return lambda node: read(node, frame.frame)


def _helpers(scene: Scene, view: View) -> Iterator[View]:
    for statement in _statements(view):
        for call in ast.walk(statement):
            function: Any = view.read(call.func) if isinstance(call, ast.Call) else None
            source = _source_of(scene, function)
            node = source.function_at(function.__code__.co_firstlineno) if source is not None else None
            if isinstance(call, ast.Call) and source is not None and isinstance(node, ast.FunctionDef):
                values, names = _bound(call, node, view)
                values |= _handed_back(statement, call, node, view)
                reads = _names_reader(values, function.__globals__)
                yield View(source, node, (node.end_lineno or 0) + 1, reads, view.failing, names)


def _source_of(scene: Scene, function: Any) -> Source | None:
    """The source of a plain function of the program's own."""
    if not isinstance(function, types.FunctionType) or not is_user_file(inspect.unwrap(function).__code__.co_filename):
        return None
    source = scene.source(inspect.unwrap(function).__code__.co_filename)
    return source if source is not None and source.tree is not None else None


def _bound(call: ast.Call, function: ast.FunctionDef, view: View) -> tuple[dict[str, Any], dict[str, set[str]]]:
    """What a call gives for the parameters: the values, and the names that are read for them."""
    parameters = [one.arg for one in function.args.args if one.arg != "self"]
    given = [*zip(parameters, call.args, strict=False), *((word.arg, word.value) for word in call.keywords)]
    values = {name: view.read(node) for name, node in given if name}
    return values, {name: loaded(node) for name, node in given if name}


def _handed_back(statement: ast.stmt, call: ast.Call, function: ast.FunctionDef, view: View) -> dict[str, Any]:
    """What a statement names of a call that returns its parameter: `batch` of `batch = send(next(batches))`."""
    returned = [one.value for one in ast.walk(function) if isinstance(one, ast.Return)]
    name = returned[0].id if len(returned) == 1 and isinstance(returned[0], ast.Name) else ""
    given = {one.arg for one in function.args.args}
    if not isinstance(statement, ast.Assign) or statement.value is not call or name not in given:
        return {}
    value = view.read(statement.targets[0])
    return {name: value} if value is not MISSING else {}


def _names_reader(values: dict[str, Any], outside: dict[str, Any]) -> Callable[[ast.AST], Any]:
    """Reads names and attributes where there is no frame."""

    def reads(node: ast.AST) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return values.get(node.id, outside.get(node.id, MISSING))
        if isinstance(node, ast.Attribute):
            owner = reads(node.value)
            return attribute(owner, node.attr) if owner is not MISSING else MISSING
        return MISSING

    return reads


def _methods(scene: Scene) -> Iterator[View]:
    """The other methods of the plain object in whose method the program failed."""
    frame = scene.user_frame
    owner = frame.locals.get("self") if frame is not None else None
    source = scene.source(frame.file) if frame is not None else None
    home = source.class_at(frame.line) if frame is not None and source is not None and owner is not None else None
    if frame is None or source is None or home is None or is_module(owner):
        return
    reads = _names_reader({"self": owner}, frame.frame.f_globals)
    for method in home.body:
        if isinstance(method, ast.FunctionDef) and method is not source.function_at(frame.line):
            yield View(source, method, (method.end_lineno or 0) + 1, reads, frozenset(), {})


def _statements(view: View) -> Iterator[ast.stmt]:
    """The simple statements of a function above a line, outside of the functions inside of it."""
    waiting = list(ast.iter_child_nodes(view.scope))
    for node in waiting:
        if isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.lineno < view.line:
            yield node
        elif isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case)) and not isinstance(node, _INNER):
            waiting += ast.iter_child_nodes(node)


def _call(statement: ast.AST) -> ast.Call:
    """The call of a statement, or of the comprehension that it is; an empty call where there is neither."""
    value = getattr(statement, "value", None)
    if isinstance(value, _LISTED):
        value = value.value if isinstance(value, ast.DictComp) else value.elt
    return value if isinstance(value, ast.Call) else ast.Call(ast.Name("", ast.Load()), [], [])


def _to_move(view: View, statement: ast.Expr, device: str) -> Iterator[Any]:
    """The tensors that a statement was to move from a device; none where it moves nothing, or not elsewhere."""
    call = _call(statement)
    if isinstance(call.func, ast.Attribute) and call.func.attr in _MOVES:
        if _asked(view, call) not in (None, device):
            yield from _receivers(view, statement, call.func.value)
    elif call.args and _keeps_moved(view.read(call.func)):
        yield from _tensors(view.read(call.args[0]))


def _asked(view: View, call: ast.Call) -> str | None:
    """The kind of device that a move names: empty where that is not known, None where it names no device."""
    if called(call) == "cuda":
        return "cuda"
    given = [*call.args[:1], *(word.value for word in call.keywords if word.arg == "device")]
    value = view.read(given[0]) if given else None
    if isinstance(value, str):
        return value.partition(":")[0]
    if value is MISSING:
        return "" if "device" in view.source.text(given[0]).lower() else None
    torch = torch_module()
    owner = value.device if is_tensor(value) else value
    return str(owner.type) if torch is not None and isinstance(owner, torch.device) else None


def _receivers(view: View, statement: ast.Expr, node: ast.expr) -> Iterator[Any]:
    """The tensors that the receiver of a move is: of a loop's variable all that the loop goes through."""
    for loop in _loops(view, statement):
        through = list(_through(view, loop.iter)) if loaded(node) & stored(loop.target) else []
        if through:
            yield from through
            return
    yield from _tensors(view.read(node))


def _loops(view: View, statement: ast.AST) -> list[Any]:
    """The loops around a statement, innermost first, those of its comprehension too."""
    value = getattr(statement, "value", None)
    around = [one for one in ast.walk(view.scope) if isinstance(one, ast.For) and statement in ast.walk(one)]
    inner: list[Any] = list(value.generators) if isinstance(value, _LISTED) else []
    return [*inner, *sorted(around, key=lambda one: -one.lineno)]


def _through(view: View, node: ast.expr) -> Iterator[Any]:
    """The tensors that a loop goes through: of `x`, `x.items()`, `x.values()`, `enumerate(x)` or `(x, y)`."""
    if isinstance(node, ast.Call) and called(node) in ("items", "values") and isinstance(node.func, ast.Attribute):
        node = node.func.value
    elif isinstance(node, ast.Call) and called(node) == "enumerate" and node.args:
        node = node.args[0]
    parts = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
    for part in parts:
        yield from _tensors(view.read(part))


def _tensors(value: Any) -> Iterator[Any]:
    if is_tensor(value):
        yield value
    elif type(value) in (list, tuple, dict):
        yield from (one for one in (value.values() if type(value) is dict else value) if is_tensor(one))


def _keeps_moved(function: Any) -> bool:
    """Whether a function returns what it has moved: nothing is left of that where its result is dropped."""
    if not isinstance(function, types.FunctionType) or not is_user_file(function.__code__.co_filename):
        return False
    source = source_of(function.__code__.co_filename)
    node = source.function_at(function.__code__.co_firstlineno)
    returned = [one.value for one in ast.walk(node) if isinstance(one, ast.Return) and one.value] if node else []
    built = [one for value in returned for one in ast.walk(value) if isinstance(one, ast.Call)]
    return any(called(one) in _MOVES and "device" in source.text(one).lower() for one in built)


def _same(one: Any, other: Any) -> bool:
    """Whether two tensors are one, or views of one."""
    if one is other or not is_tensor(one) or not is_tensor(other):
        return one is other
    return base_of(one) is base_of(other)
