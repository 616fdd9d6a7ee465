"""Tensors that are no leaves where a leaf is wanted: an optimizer is given one, or its gradient is asked for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from explainer.bindings import assignments
from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.files import nodes_of, sources
from explainer.probes.places import span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.tensor import tensor_fact
from explainer.probes.values import fields_of, is_tensor
from explainer.source import Source, called, source_of

_LISTS = (list, tuple)


@probe
def computed_parameter(scene: Scene) -> SpanFact | None:
    """The expression that computed the tensor which an optimizer was given, followed from the name that holds it.

    `detail`: `name`, `shape`, `operator` (what computed it) and `leaf`, the same value as a leaf that requires grad.
    """
    tensor = _refused(scene)
    for frame in reversed(scene.live.user if scene.live is not None and tensor is not None else []):
        for name, held in _names(frame, tensor):
            found = _bound(scene, frame, name)
            value = _element(*found, held) if found is not None else None
            if found is not None and value is not None:
                return _fact(found[0], value, name, tensor)
    alone = list(_made_computed(scene)) if tensor is not None else []
    return _fact(*alone[0], _target(*alone[0]), tensor) if len(alone) == 1 else None


def _made_computed(scene: Scene) -> Iterator[tuple[Source, ast.expr]]:
    """The values that are assigned and hold, as a part, a tensor made to require grad."""
    for source, node in nodes_of(scene, ast.Assign):
        inner = [one for one in ast.walk(node.value) if _requires(source, one)]
        if isinstance(node.value, (ast.BinOp, ast.Call)) and inner and inner != [node.value]:
            yield source, node.value


def _requires(source: Source, node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and any(source.text(word) == "requires_grad=True" for word in node.keywords)


def _target(source: Source, value: ast.expr) -> str:
    found = [one for one in source.nodes() if isinstance(one, ast.Assign) and one.value is value]
    return source.text(found[0].targets[0])


@probe
def backward_before(scene: Scene) -> SpanFact | None:
    """The last statement above the failing one, in its function, that calls backward of what has a name."""
    failing, frame = scene.failing, scene.user_frame
    if failing is None or frame is None:
        return None
    scope = failing.source.scope_at(frame.line)
    found = [
        one
        for one in (ast.walk(scope) if scope is not None else ())
        if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call) and called(one.value) == "backward"
        and one.lineno < frame.line and not isinstance(getattr(one.value.func, "value", None), ast.Call)
    ]  # fmt: skip
    return span_fact(failing.source, max(found, key=lambda one: one.lineno)) if found else None


def _refused(scene: Scene) -> Any:
    """The tensor that `Optimizer.add_param_group` was looking at."""
    for frame in reversed(scene.live.frames if scene.live is not None else []):
        if not frame.user and frame.frame.f_code.co_name == "add_param_group":
            value = frame.locals.get("param")
            return value if is_tensor(value) and value.grad_fn is not None else None
    return None


def _names(frame: LiveFrame, tensor: Any) -> Iterator[tuple[str, int | None]]:
    """The variables and attributes that are the tensor, or a list that holds it with its index there."""
    held = [(name, value) for name, value in frame.locals.items() if name.isidentifier()]
    for name, value in list(held):
        if not is_tensor(value) and not isinstance(value, (*_LISTS, type)):
            held += [(f"{name}.{key}", one) for key, one in list(fields_of(value).items())[:100]]
    for name, value in held:
        if value is tensor:
            yield name, None
        elif isinstance(value, _LISTS) and any(one is tensor for one in value):
            yield name, next(i for i, one in enumerate(value) if one is tensor)


def _bound(scene: Scene, frame: LiveFrame, name: str) -> tuple[Source, ast.expr] | None:
    """The value of the last statement that binds a name in the frame's function; of an attribute, in any file."""
    own = source_of(frame.file, frame.frame.f_globals)
    if "." not in name:
        scope = own.scope_at(frame.line)
        values = [one.value for one in assignments(scope, name) if one.lineno < frame.line]
        return (own, values[-1]) if values else None
    attribute = name.rsplit(".", 1)[-1]
    found = [(one, each.value) for one in sources(scene) for each in assignments(one.tree, f"self.{attribute}")]
    return found[0] if len(found) == 1 else None


def _element(source: Source, value: ast.expr, index: int | None) -> ast.expr | None:
    """The expression that makes one tensor: of a list its entry, of a comprehension what it repeats."""
    if index is None:
        return value
    if isinstance(value, (ast.ListComp, ast.GeneratorExp)):
        return value.elt
    if isinstance(value, (ast.List, ast.Tuple)) and value.elts:
        return value.elts[index] if index < len(value.elts) else None
    added = _appended(source, value)
    return added if isinstance(value, ast.List) else None


def _appended(source: Source, empty: ast.expr) -> ast.expr | None:
    """What is appended to a list that begins empty, where one statement of its function does it."""
    scope = source.scope_at(empty.lineno)
    names = {source.text(t) for one in ast.walk(scope) if isinstance(one, ast.Assign) and one.value is empty
             for t in one.targets} if scope is not None else set()  # fmt: skip
    calls = [
        one for one in ast.walk(scope)
        if isinstance(one, ast.Call) and called(one) == "append" and len(one.args) == 1
        and isinstance(one.func, ast.Attribute) and source.text(one.func.value) in names
    ] if scope is not None else []  # fmt: skip
    return calls[0].args[0] if len(calls) == 1 else None


def _fact(source: Source, value: ast.expr, name: str, tensor: Any) -> SpanFact:
    described = tensor_fact(name, tensor)
    operator = type(tensor.grad_fn).__name__.removesuffix("0").removesuffix("Backward")
    return span_fact(source, value, name=name, shape=described.shape, operator=operator, leaf=as_leaf(source, value))


def as_leaf(source: Source, value: ast.expr) -> str:
    """`a * torch.randn(n, requires_grad=True)` -> `(a * torch.randn(n)).requires_grad_()`; what has a graph for another
    reason is detached first.
    """
    text = source.text(value)
    plain = re.sub(r"\.requires_grad_\((?:True)?\)", "", text.replace(", requires_grad=True", ""))
    simple = plain != text and not re.search(r"Parameter\(|requires_grad_\(|requires_grad=", plain)
    text = plain if simple else text
    if not isinstance(value, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
        text = f"({text})"
    return f"{text}.requires_grad_()" if simple else f"{text}.detach().requires_grad_()"
