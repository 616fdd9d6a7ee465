"""Gradients that a program asks for: of tensors that autograd does not follow, or that the output does not contain."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from explainer.edits.kinds.arguments import argument_node
from explainer.edits.place import Place
from explainer.facts import SpanFact, TensorFact
from explainer.probes import probe
from explainer.probes.call import call_node
from explainer.probes.origin import last_binding
from explainer.probes.places import enclosing, span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.tensor import tensor_fact
from explainer.probes.values import fields_of, is_optimizer, is_tensor, read
from explainer.source import Source, called
from explainer.wrappers import named_parameters

_GRAD = ("outputs", "inputs", "grad_outputs", "retain_graph", "create_graph")


@probe
def untracked_input(scene: Scene) -> TensorFact | None:
    """The float tensor without `requires_grad` whose gradient the program wants.

    An input of `autograd.grad`, the receiver of `retain_grad` or `register_hook`, what `.grad` is read of below a
    backward, or what an optimizer was given. Parameters are left out: a frozen one is another story.
    """
    frame, failing = scene.user_frame, scene.failing
    if frame is None or failing is None:
        return None
    for node in _wanted(failing.source, call_node(failing.node), frame):
        value = read(node, frame.frame)
        if is_tensor(value) and not value.requires_grad and _trackable(value):
            return tensor_fact(failing.source.text(node), value, failing.source.span(node))
    return _optimised(frame) if called(call_node(failing.node)) == "backward" else None  # type: ignore[arg-type]


def _optimised(frame: LiveFrame) -> TensorFact | None:
    """The tensor without `requires_grad` that an optimizer of the frame is to change."""
    for optimizer in list(frame.locals.values()):
        groups = fields_of(optimizer).get("param_groups") if is_optimizer(optimizer) else None
        given = [one for group in groups or () for one in group["params"]]
        for name, value in frame.locals.items():
            wanted = is_tensor(value) and any(one is value for one in given)
            if wanted and not value.requires_grad and _trackable(value):
                return tensor_fact(name, value)
    return None


def _wanted(source: Source, node: ast.AST, frame: LiveFrame) -> Iterator[ast.AST]:
    """The expressions whose gradients the failing call is about."""
    yield from (one.value for one in ast.walk(node) if isinstance(one, ast.Attribute) and one.attr == "grad")
    if not isinstance(node, ast.Call):
        return
    if called(node) == "grad":
        given = argument_node(Place(source, node), "inputs", _GRAD)
        yield from given.elts if isinstance(given, (ast.List, ast.Tuple)) else filter(None, [given])
    elif called(node) in ("retain_grad", "register_hook") and isinstance(node.func, ast.Attribute):
        yield node.func.value
    elif called(node) == "backward":
        scope = source.scope_at(frame.line)
        for one in ast.walk(scope) if scope is not None else ():
            if isinstance(one, ast.Attribute) and one.attr == "grad" and one.lineno > frame.line:
                yield one.value


def _trackable(value: Any) -> bool:
    import torch

    return (value.is_floating_point() or value.is_complex()) and not isinstance(value, torch.nn.Parameter)


@probe
def tracked_from(scene: Scene, of: TensorFact | None = None) -> SpanFact | None:
    """The statement before which a tensor must begin to require grad: the one after it was bound.

    Where the output was computed by a caller, the caller's name for the tensor counts. `detail`: `name`, what the
    tensor is called there; `bound`, whether the line to blame is the binding itself.
    """
    failing = scene.failing
    if of is None or failing is None or scene.live is None:
        return None
    output = _output(failing.source, call_node(failing.node))
    frames = scene.live.user
    name, at = of.name, len(frames) - 1
    while at >= 0:
        frame, source = frames[at], scene.source(frames[at].file)
        passed = at and name in frame.parameters and output in frame.parameters
        outer = in_caller(frames[at - 1], frame, (name, output)) if passed else None
        if source is None or outer is None:
            return _beginning(source, frame, name) if source is not None else None
        name, output = outer
        at -= 1
    return None


def _output(source: Source, node: ast.AST) -> str:
    """The name that what gradients are taken of begins with: `scores` of `scores.sum()`."""
    if not isinstance(node, ast.Call):
        return ""
    first = argument_node(Place(source, node), "outputs", _GRAD)
    if called(node) == "backward" and isinstance(node.func, ast.Attribute):
        first = node.func.value
    while isinstance(first, (ast.Attribute, ast.Call, ast.Subscript)):
        first = first.func if isinstance(first, ast.Call) else first.value
    return source.text(first) if isinstance(first, ast.Name) else ""


def in_caller(outer: LiveFrame, inner: LiveFrame, names: Sequence[str]) -> tuple[str, ...] | None:
    """The caller's expressions for some parameters; None where they cannot be followed."""
    failing = outer.failing()
    call = call_node(failing.node) if failing is not None else None
    if failing is None or not isinstance(call, ast.Call):
        return None
    parameters = [name for name in inner.parameters if name not in ("self", "cls")]
    given = [argument_node(Place(failing.source, call), name, parameters) for name in names]
    found = tuple(failing.source.text(one) for one in given if isinstance(one, (ast.Name, ast.Attribute)))
    return found if len(found) == len(names) else None


def _beginning(source: Source, frame: LiveFrame, name: str) -> SpanFact | None:
    """The statement that follows the binding of a name: in its block, a loop's body, or a function's."""
    function = source.scope_at(frame.line)
    bound = last_binding(source, frame, name)
    if isinstance(bound, (ast.For, ast.AsyncFor)):
        following: ast.stmt | None = bound.body[0]
    elif bound is not None:
        following = _next(source, bound)
    else:
        following = _first_use(source, frame, name, function)
    if following is None:
        return None
    detail = {"name": name, "function": source.qualified_at(following.lineno)}
    return span_fact(source, following, **detail)


def _next(source: Source, statement: ast.stmt) -> ast.stmt | None:
    """The statement after another in its block."""
    for node in source.nodes():
        for block in ("body", "orelse", "finalbody"):
            body = getattr(node, block, None)
            for one, following in itertools.pairwise(body) if isinstance(body, list) else ():
                if one is statement:
                    return following
    return None


def _first_use(source: Source, frame: LiveFrame, name: str, scope: ast.AST | None) -> ast.stmt | None:
    """The first statement of a function's own block that names a parameter or attribute."""
    for statement in getattr(scope, "body", ()):
        if statement.lineno <= frame.line and any(
            isinstance(one, (ast.Name, ast.Attribute)) and source.text(one) == name for one in ast.walk(statement)
        ):
            return statement
    return None


@probe
def tracked_line(scene: Scene, of: TensorFact | None = None, start: SpanFact | None = None) -> SpanFact | None:
    """The line to blame for a tensor that is not followed: where it was bound, else its first use."""
    if of is None or start is None or scene.live is None:
        return start
    source = scene.source(start.span.file)
    frame = _frame_at(scene, source, start.span.line) if source is not None else None
    bound = last_binding(source, frame, start["name"]) if source is not None and frame is not None else None
    if source is None or bound is None or isinstance(bound, (ast.For, ast.AsyncFor)) or bound.lineno > start.span.line:
        return start
    return span_fact(source, bound)


def _frame_at(scene: Scene, source: Source, line: int) -> LiveFrame | None:
    """The innermost frame of the function that holds a line."""
    frames = reversed(scene.live.user) if scene.live is not None else ()
    function = source.function_at(line)
    return next((f for f in frames if f.file == source.file and source.function_at(f.line) is function), None)


@probe
def unused_input(scene: Scene) -> TensorFact | None:
    """The input of `autograd.grad` that its outputs were not computed from, by the index that torch names."""
    frame, found = scene.user_frame, failing_grad(scene)
    if frame is None or found is None:
        return None
    source, call = found
    given, node, index = input_of(scene, *found)
    value = read(node, frame.frame) if node is not None else None
    if node is not None and is_tensor(value):
        return tensor_fact(source.text(node), value, source.span(node))
    return _listed(scene, index, source.span(given if given is not None else call))


def failing_grad(scene: Scene) -> tuple[Source, ast.Call] | None:
    """The failing call, where it is one of `autograd.grad`."""
    failing = scene.failing
    call = call_node(failing.node) if failing is not None else None
    is_grad = isinstance(call, ast.Call) and called(call) == "grad"
    return (failing.source, call) if failing is not None and is_grad else None  # type: ignore[return-value]


def input_of(scene: Scene, source: Source, call: ast.Call) -> tuple[ast.expr | None, ast.expr | None, int]:
    """What a call of `autograd.grad` is given as `inputs`, the one of them that torch names by its index, and that."""
    given = argument_node(Place(source, call), "inputs", _GRAD)
    parts = given.elts if isinstance(given, (ast.List, ast.Tuple)) else [given]
    index = int(scene.captures.get("index") or 0)
    return given, parts[index] if index < len(parts) else None, index


def _listed(scene: Scene, index: int, span: Any) -> TensorFact | None:
    """One of a list of parameters, by the name that its model gives it."""
    from explainer.probes.autograd.graph import named_modules

    frame = next((one for one in scene.live.frames if one.frame.f_code.co_name == "grad"), None) if scene.live else None
    inputs = frame.locals.get("inputs") if frame is not None else None
    if not isinstance(inputs, (list, tuple)) or index >= len(inputs) or not is_tensor(inputs[index]):
        return None
    for model, module in named_modules(scene):
        for name, parameter in named_parameters(module):
            if parameter is inputs[index]:
                return tensor_fact(f"{model}.{name}", parameter, span)
    return tensor_fact(f"inputs[{index}]", inputs[index], span)


@probe
def twin_used(scene: Scene, of: TensorFact | None = None) -> SpanFact | None:
    """Where the outputs were computed from what a tensor was copied from: `images` of `x = images.clone()`."""
    frame, failing = scene.user_frame, scene.failing
    if of is None or frame is None or failing is None or not of.name.isidentifier():
        return None
    bound = last_binding(failing.source, frame, of.name)
    if not isinstance(bound, ast.Assign) or enclosing(failing.source, bound.lineno, (ast.ClassDef,)):
        return None
    origins = {one.id for one in ast.walk(bound.value) if isinstance(one, ast.Name)} - {of.name}
    scope = failing.source.scope_at(frame.line)
    for one in ast.walk(scope) if scope is not None else ():
        between = isinstance(one, ast.Name) and bound.lineno < one.lineno < frame.line and one.id in origins
        if between and isinstance(one.ctx, ast.Load) and _alike(read(one, frame.frame), of):  # type: ignore[attr-defined]
            return span_fact(failing.source, one)
    return None


def _alike(value: Any, of: TensorFact) -> bool:
    return is_tensor(value) and tuple(value.shape) == of.shape


@probe
def grad_call(scene: Scene) -> SpanFact | None:
    """The failing call of `autograd.grad`; `detail` has how it is written."""
    found = failing_grad(scene)
    return span_fact(*found) if found is not None else None


@probe
def unused_place(scene: Scene, twin: SpanFact | None = None, call: SpanFact | None = None) -> SpanFact | None:
    """The line to blame for an input without influence: where its twin was used instead, else where it is asked for."""
    from explainer.probes.autograd.pieces import asking

    ask = asking(scene) if twin is None else None
    return twin or (span_fact(ask.source, ask.call) if ask is not None else call)
