"""The guard of a raise in live frames: what had to hold, the values it met, the user's argument that it is about."""

from __future__ import annotations

import ast
import operator
import types
from typing import Any

from explainer.bindings import only_value
from explainer.diagnosis import Span
from explainer.frozen import frozen
from explainer.grammar.guards import CHECKS, Guard, guard_at, leaves
from explainer.probes.bindings import binding
from explainer.probes.files import sources
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.tensor import fact_of
from explainer.probes.values import MISSING, is_module, is_tensor, read, torch_module
from explainer.source import Source, called, loaded, source_of

_SIGNS: dict[type[ast.cmpop], Any] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne, ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
    ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip


#: Types that are compared here as Python would compare them.
_PLAIN = (int, float, bool, str, type(None))


@frozen
class Guarded:
    """A guard with what of it did not hold, the values that it met, and where the user's code gave the wrong one.

    `argument` is the argument of the user's call, `given` the number or text that it was set to elsewhere. `owned`: the
    check is one of tensors, layers, or an object of torch's. `built`: what the object was built with that checks.
    """

    guard: Guard
    unmet: ast.expr
    where: str
    values: tuple[tuple[str, str], ...]
    argument: Span | None = None
    given: Span | None = None
    owned: bool = False
    built: Span | None = None


def guarded(scene: Scene) -> Guarded | None:
    """The guard of the raise that ended the scene; None where nothing guards it or its source is not to be had."""
    frames = scene.live.frames if scene.live is not None else []
    at = _raising(frames)
    if at is None:
        return None
    frame = frames[at]
    guard = guard_at(source_of(frame.file, frame.frame.f_globals), frame.line)
    if guard is None or holds(guard.check, frame.frame):
        return None  # what it looked at is another value by now
    unmet = _unmet(guard.check, frame.frame)
    nodes = leaves(unmet)
    met = {ast.unparse(node): read(node, frame.frame) for node in nodes if not _of_library(node, frame)}
    shown = tuple((name, text) for name, value in met.items() if (text := _shown(name, value)) is not None)
    names = _parameters(nodes, guard, scene.crash.message)
    call, argument = _argument(frames[: at + 1], names)
    built = _built(scene, frame, names) if argument is None else None
    given = _literal(scene, argument) if argument is not None else None
    owner = frame.locals.get("self")
    owned = any(is_tensor(one) or is_module(one) for one in (*_held(nodes, frame), owner)) or _is_torchs(owner)
    span = argument[0] if argument is not None else None
    return Guarded(guard, unmet, call or _where(guard, frames, at), shown, span, given, owned, built)


def holds(condition: ast.expr, frame: types.FrameType) -> bool | None:
    """Whether a condition on plain values is true in a frame; None where that is not known. Runs no user code."""
    if isinstance(condition, ast.BoolOp):
        parts, decides = [holds(one, frame) for one in condition.values], isinstance(condition.op, ast.Or)
        return decides if decides in parts else None if None in parts else not decides
    if isinstance(condition, ast.UnaryOp) and isinstance(condition.op, ast.Not):
        inner = holds(condition.operand, frame)
        return None if inner is None else not inner
    if isinstance(condition, ast.Compare):
        return _compared(condition, frame)
    if isinstance(condition, ast.Call) and isinstance(condition.func, ast.Name) and condition.func.id == "isinstance":
        return _is_of(condition, frame)
    value = read(condition, frame)
    return bool(value) if type(value) in _PLAIN else None


def _compared(condition: ast.Compare, frame: types.FrameType) -> bool | None:
    values = [read(one, frame) for one in (condition.left, *condition.comparators)]
    if all(isinstance(sign, (ast.Is, ast.IsNot)) for sign in condition.ops) and MISSING not in values:
        return all(
            (a is b) is isinstance(s, ast.Is) for a, b, s in zip(values, values[1:], condition.ops, strict=False)
        )
    if not all(_is_plain(one) for one in values):
        return None
    try:
        signs = zip(values, values[1:], condition.ops, strict=False)
        return all(_SIGNS[type(sign)](left, right) for left, right, sign in signs)
    except TypeError:
        return None


def _is_plain(value: Any) -> bool:
    torch = torch_module()
    plain = _PLAIN if torch is None else (*_PLAIN, torch.dtype, torch.device)
    items = type(value) in (tuple, list, set, frozenset) or (torch is not None and type(value) is torch.Size)
    return all(type(one) in plain for one in value) if items else type(value) in plain


def _is_of(call: ast.Call, frame: types.FrameType) -> bool | None:
    """What `isinstance` says of plain values and plain classes, without asking the class."""
    value, kinds = (read(one, frame) for one in call.args)
    kinds = kinds if type(kinds) is tuple else (kinds,)
    if value is MISSING or not all(isinstance(kind, type) for kind in kinds):
        return None
    if any(kind in type(value).__mro__ for kind in kinds):
        return True
    return False if all(type(kind) is type for kind in kinds) else None


def _unmet(condition: ast.expr, frame: types.FrameType) -> ast.expr:
    """A condition without those of its parts that are known to hold."""
    if not isinstance(condition, ast.BoolOp):
        return condition
    parts = [_unmet(one, frame) for one in condition.values if holds(one, frame) is not True] or condition.values
    return parts[0] if len(parts) == 1 else ast.BoolOp(condition.op, parts)


def _where(guard: Guard, frames: list[LiveFrame], at: int) -> str:
    """What raised: the class of the object that is being made, or the function that the user's code called."""
    frame = frames[at]
    if frame.frame.f_code.co_name == "__init__" and "self" in frame.locals:
        return type(frame.locals["self"]).__name__
    entry = next((one for one in reversed(range(at + 1)) if frames[one].user), at) + 1
    if guard.where.startswith("_") and entry < at and not frames[entry].frame.f_code.co_name.startswith("_"):
        return frames[entry].frame.f_code.co_name
    return guard.where


def _is_torchs(value: Any) -> bool:
    """Whether a value is of one of torch's classes, or of one that builds on them."""
    return any(base.__module__.partition(".")[0] == "torch" for base in type(value).__mro__)


def _of_library(node: ast.expr, frame: LiveFrame) -> bool:
    """Whether an expression names a constant of a module, such as `torch.bool`."""
    return isinstance(frame.frame.f_globals.get(_root(node)), types.ModuleType) and _root(node) not in frame.locals


def _parameters(nodes: list[ast.expr], guard: Guard, message: str) -> list[str]:
    """The parameters that a check is about, those first that the message names; `self.size` may be one too."""
    found = []
    for node in nodes:
        name, own = _root(node), node.attr if isinstance(node, ast.Attribute) else ""
        if name in guard.parameters and name != "self":
            found.append(name)
        elif name == "self" and own:
            found.append(own)
    return sorted(dict.fromkeys(found), key=lambda name: name not in message)


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
    torch = torch_module()
    if torch is not None and type(value) in (torch.dtype, torch.device):
        return str(value)
    return str(fact_of(name, value))


def _plain(values: Any) -> bool:
    return len(values) <= 12 and all(type(one) in (int, float, bool, str) for one in values) and len(str(values)) < 100


#: The span of an argument, with its node and the frame of the user's that it stands in.
Argument = tuple[Span, ast.expr, LiveFrame]


def _argument(frames: list[LiveFrame], names: list[str]) -> tuple[str | None, Argument | None]:
    """What the user's code called, and where it gave one of the parameters; None for what is not known."""
    for name in names:
        found = _followed(frames, name)
        if found is not None:
            return found
    return None, None


def _followed(frames: list[LiveFrame], name: str) -> tuple[str, Argument] | None:
    """The call and the argument of the user's, followed from the raising frame up."""
    inner: LiveFrame | None = frames[-1]
    for outer in reversed(frames[:-1]):
        failing = outer.failing()
        call = _call(failing.node) if failing is not None else None
        if failing is None or call is None:
            return None
        if outer.user:
            node = _given(call, name, inner)
            return (called(call), (failing.source.span(node, name), node, outer)) if node is not None else None
        if any(isinstance(one, ast.Starred) for one in call.args):
            continue  # a wrapper, that hands on what it was given
        node = _given(call, name, inner)
        handed = _parameter(node, outer, failing.source) if node is not None else None
        name, inner = (handed, outer) if handed is not None else (name, None)
    return None


def _built(scene: Scene, frame: LiveFrame, names: list[str]) -> Span | None:
    """What the program built the checking object with: `total_steps=n` of the scheduler that `step` refuses."""
    owner = frame.locals.get("self")
    kind = type(owner).__name__
    nodes = ((source, node) for source in sources(scene) for node in source.nodes()) if not frame.user else ()
    made = [(source, node) for source, node in nodes if isinstance(node, ast.Call) and called(node) == kind]
    for name in names if len(made) == 1 else ():
        source, call = made[0]
        node = next((word.value for word in call.keywords if word.arg == name), None)
        if node is not None:
            given = only_value(source.scope_at(node.lineno), node.id) if isinstance(node, ast.Name) else None
            return source.span(given or node, name)
    return None


def _parameter(node: ast.expr, frame: LiveFrame, source: Source) -> str | None:
    """The one parameter of a frame's function that an argument is, or was made of; None where several may be."""
    code = frame.frame.f_code
    parameters = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]) - {"self"}
    function = source.function_at(frame.line)
    if not isinstance(node, ast.Name) or function is None:
        return None
    if node.id in parameters:
        return node.id
    made = [
        one.value
        for one in ast.walk(function)
        if isinstance(one, ast.Assign) and any(isinstance(to, ast.Name) and to.id == node.id for to in one.targets)
    ]
    used = {name for value in made for name in loaded(value) if name in parameters}
    return used.pop() if len(used) == 1 else None


def _literal(scene: Scene, argument: Argument) -> Span | None:
    """The literal that an argument was set to elsewhere, in an assignment or a caller's call."""
    _, node, frame = argument
    users = scene.live.user if scene.live is not None else []
    number = next((at for at, one in enumerate(users) if one is frame), None)
    found = binding(scene, node, number) if number is not None and isinstance(node, ast.Name) else None
    if found is None or found.looped or found.part is not None or not _is_literal(found.node):
        return None
    return found.source.span(found.node, node.id)  # type: ignore[attr-defined]


def _is_literal(node: ast.AST) -> bool:
    if isinstance(node, (ast.Tuple, ast.List)):
        return all(map(_is_literal, node.elts))
    return isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and _is_literal(node.operand))


def _call(node: ast.AST) -> ast.Call | None:
    while isinstance(node, (ast.Assign, ast.Return, ast.Expr)) and node.value is not None:
        node = node.value
    return node if isinstance(node, ast.Call) else None


def _given(call: ast.Call, name: str, inner: LiveFrame | None) -> ast.expr | None:
    """The argument that a call gives for a parameter of the function that it entered; without one, by keyword only."""
    for word in call.keywords:
        if word.arg == name:
            return word.value
    if inner is None:
        return None
    code = inner.frame.f_code
    parameters = list(code.co_varnames[: code.co_argcount])
    if any(isinstance(one, ast.Starred) for one in call.args) or name not in parameters:
        return None
    place = parameters.index(name) - (parameters[:1] == ["self"])
    return call.args[place] if 0 <= place < len(call.args) else None
