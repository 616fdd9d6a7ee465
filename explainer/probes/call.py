"""The failing sub-expression and its operands, by name and value."""

from __future__ import annotations

import ast
import inspect
import types
from dataclasses import replace
from typing import Any

from explainer.facts import CallFact, TensorFact
from explainer.frozen import frozen
from explainer.patterns import Pattern
from explainer.probes import probe
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.tensor import fact_of
from explainer.probes.values import MISSING, is_module, read

_OPERATORS = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.MatMult: "matmul",
    ast.Pow: "pow",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder",
    ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
}
#: Expressions that are computed again for their shapes, and of calls with more operands than so many none is.
_WORKED_OUT = (ast.Call, ast.BinOp, ast.UnaryOp, ast.Subscript, ast.Attribute)
_FEW = 4
_OF_SIZES = Pattern(r"\b(?:sizes?|shapes?|dimensions?)\b")


@frozen
class Operand:
    """One operand of the failing call: how the source writes it, its node where there is one, its live value."""

    name: str
    node: ast.AST | None
    value: Any
    parameter: str | None = None


def operands(scene: Scene) -> list[Operand]:
    """The operands of the failing call in order, the receiver of a method first; live, so only for probes."""
    return scene.once("operands", lambda: _operands(scene)) or []


def _operands(scene: Scene) -> list[Operand]:
    frame, failing = scene.user_frame, scene.failing
    if frame is None or failing is None:
        return []
    node = call_node(failing.node)
    if isinstance(node, (ast.BinOp, ast.AugAssign, ast.Compare)):
        pair = (node.target, node.value) if isinstance(node, ast.AugAssign) else _sides(node)
        return [_operand(part, frame, scene) for part in pair]
    if isinstance(node, ast.Call):
        return _of_call(node, frame, scene)
    if isinstance(node, ast.Subscript):
        index = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return [_operand(part, frame, scene) for part in (node.value, *index)]
    if isinstance(node, (ast.UnaryOp, ast.Attribute)):
        return [_operand(node.operand if isinstance(node, ast.UnaryOp) else node.value, frame, scene)]
    return []


def call_node(node: ast.AST) -> ast.AST:
    """The expression that did the work: of `y = f(x)` the call, of a statement its value."""
    while isinstance(node, (ast.Assign, ast.AnnAssign, ast.Return, ast.Expr, ast.Await)) and node.value is not None:
        node = node.value
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        return node.targets[0]
    return node


def _sides(node: ast.AST) -> tuple[ast.AST, ast.AST]:
    return (node.left, node.comparators[0]) if isinstance(node, ast.Compare) else (node.left, node.right)  # type: ignore


def _of_call(node: ast.Call, frame: LiveFrame, scene: Scene) -> list[Operand]:
    """Operands of a call: read from the source, and where that fails from the called function's own frame."""
    found = []
    function = node.func
    if isinstance(function, ast.Attribute):
        owner = read(function.value, frame.frame)
        if not isinstance(owner, types.ModuleType) and not isinstance(owner, type):
            found.append(_operand(function.value, frame, scene))
    given = [_operand(part, frame, scene) for part in node.args if not isinstance(part, ast.Starred)]
    given += [_operand(word.value, frame, scene, word.arg) for word in node.keywords if word.arg]
    if is_module(read(function, frame.frame)) or (found and is_module(found[0].value)):
        found = []
    return found + _filled(given, scene, found[0].value if found else MISSING)


def _filled(given: list[Operand], scene: Scene, owner: Any) -> list[Operand]:
    """Operands with the values that could not be read from the source taken from the called function's arguments.

    A method of a tensor may enter a function that is given the tensor first, under any name.
    """
    passed = called_arguments(scene)
    if passed is None:
        return given
    names, values = list(passed), list(passed.values())
    if values and owner is not MISSING and values[0] is owner:
        names, values = names[1:], values[1:]
    out = []
    for index, operand in enumerate(given):
        if operand.value is MISSING and operand.parameter in passed:
            operand = replace(operand, value=passed[operand.parameter])
        elif operand.value is MISSING and operand.parameter is None and index < len(values):
            operand = replace(operand, value=values[index], parameter=names[index])
        elif operand.parameter is None and index < len(names):
            operand = replace(operand, parameter=names[index])
        out.append(operand)
    return out


def called_arguments(scene: Scene) -> dict[str, Any] | None:
    """The arguments of the Python function that the failing call entered, `self` left out; None for a builtin."""
    return scene.once("called_arguments", lambda: _called_arguments(scene))


def _called_arguments(scene: Scene) -> dict[str, Any] | None:
    inner = next_frame(scene)
    if inner is None:
        return None
    code, values = inner.frame.f_code, inner.locals
    if code.co_name in ("_wrapped_call_impl", "_call_impl"):
        return _module_arguments(inner)
    passed = inspect.getargs(code)
    names = [name for name in passed.args if name in values]
    if names[:1] == ["self"]:
        names = names[1:]
    more = values.get(passed.varargs, ()) if passed.varargs else ()
    rest = {f"argument {len(names) + at}": value for at, value in enumerate(more if isinstance(more, tuple) else ())}
    return {**{name: values[name] for name in names}, **rest}


def _module_arguments(inner: LiveFrame) -> dict[str, Any]:
    """What a module was called with, under the parameter names of its `forward`."""
    values = inner.locals
    given, words = values.get("args", ()), values.get("kwargs", {})
    forward = getattr(type(values.get("self")), "forward", None)
    code = getattr(forward, "__code__", None)
    names = list(inspect.getargs(code).args[1:]) if code is not None else []
    names += [f"argument {i}" for i in range(len(names), len(given))]
    return {**dict(zip(names, given, strict=False)), **words}


def next_frame(scene: Scene) -> LiveFrame | None:
    """The frame that the user's innermost frame called into, None where a builtin raised."""
    frames = scene.live.frames if scene.live else []
    at = next((i for i, frame in enumerate(frames) if frame is scene.user_frame), None)
    return frames[at + 1] if at is not None and at + 1 < len(frames) else None


def _operand(node: ast.AST, frame: LiveFrame, scene: Scene, parameter: str | None = None) -> Operand:
    source = scene.failing.source  # type: ignore[union-attr]
    return Operand(" ".join(source.text(node).split()), node, read(node, frame.frame), parameter)


def function_name(node: ast.AST) -> str:
    """The plain name of the operator that a node calls: `linear`, `matmul`, `add`, `getitem`."""
    if isinstance(node, ast.Call):
        function = node.func
        return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "call")
    if isinstance(node, (ast.BinOp, ast.AugAssign)):
        return _OPERATORS.get(type(node.op), "operator")
    return {ast.Subscript: "getitem", ast.Compare: "compare", ast.Attribute: "getattr", ast.UnaryOp: "neg"}.get(
        type(node), "expression"
    )


@probe
def call(scene: Scene) -> CallFact | None:
    """The failing sub-expression of the user's innermost frame, with its operands."""
    failing = scene.failing
    if failing is None:
        return None
    node = call_node(failing.node)
    facts = tuple(filter(None, (_fact(operand, scene) for operand in operands(scene))))
    return CallFact(function_name(node), failing.source.text(node), facts, failing.source.span(node))


def _fact(operand: Operand, scene: Scene) -> Any:
    """The fact of an operand, of one that has no name as it is computed once more; None where nothing is known."""
    return fact_of_operand(operand, scene) if operand.value is not MISSING else _computed(scene).get(operand.name)


def _computed(scene: Scene) -> dict[str, TensorFact]:
    """The operands that only an operator of torch's was given, whose values no frame holds, by their text."""
    return scene.once("computed operands", lambda: _computed_again(scene)) or {}


def _computed_again(scene: Scene) -> dict[str, TensorFact]:
    """Where a message is about sizes: a dtype or device is mended where it comes from, not by the text of a call."""
    from explainer.replay.operands import computed

    if not _OF_SIZES.search(scene.crash.message):
        return {}
    unknown = [one for one in operands(scene) if one.value is MISSING and isinstance(one.node, _WORKED_OUT)]
    if not unknown or called_arguments(scene) is not None or len(operands(scene)) > _FEW:
        return {}
    source, found = scene.failing.source, computed(scene, [one.node for one in unknown])  # type: ignore[union-attr,misc]
    return {one.name: TensorFact(one.name, tuple(seen["shape"]), seen["dtype"], seen["device"], seen["requires_grad"],
                                 is_leaf=False, span=source.span(one.node))  # type: ignore[arg-type]
            for one, seen in zip(unknown, found, strict=True) if seen is not None}  # fmt: skip


def fact_of_operand(operand: Operand, scene: Scene) -> Any:
    """The fact of an operand of the failing call; the scene keeps its value under its name."""
    scene.objects[operand.name] = operand.value
    source = scene.failing.source  # type: ignore[union-attr]
    return fact_of(operand.name, operand.value, source.span(operand.node) if operand.node is not None else None)


@probe
def argument(scene: Scene, index: int | None = None, name: str | None = None) -> Any:
    """One operand of the failing call, by position (the receiver of a method is 0) or by parameter name."""
    found = operands(scene)
    if name is not None:
        chosen = next((one for one in found if name in (one.parameter, one.name)), None)
    else:
        chosen = found[index] if index is not None and index < len(found) else None
    known = _fact(chosen, scene) if chosen is not None else None
    if known is not None:
        return known
    passed = called_arguments(scene) or {}
    if name not in passed:
        return None
    scene.objects[name] = passed[name]
    return fact_of(name, passed[name])


@probe
def tensors(scene: Scene) -> tuple[TensorFact, ...] | None:
    """All tensors among the operands of the failing call."""
    facts = [fact_of_operand(one, scene) for one in operands(scene) if one.value is not MISSING]
    found = tuple(fact for fact in facts if isinstance(fact, TensorFact))
    return found or None


@probe
def local(scene: Scene, name: str) -> Any:
    """A local variable of the innermost frame, torch's own included, that has one of this name."""
    for frame in reversed(scene.live.frames if scene.live else []):
        if name in frame.locals:
            scene.objects[name] = frame.locals[name]
            return fact_of(name, frame.locals[name])
    return None
