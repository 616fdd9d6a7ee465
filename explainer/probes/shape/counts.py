"""Counts that do not fit what they count: more values than a dimension has, pieces that do not add up to a layer's."""

from __future__ import annotations

import ast
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.built import bound, construction
from explainer.probes.numerics.memory import viewed
from explainer.probes.origin import last_binding
from explainer.probes.places import span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.values import MISSING, is_module, is_tensor, read
from explainer.source import Source, called


@probe
def asked_count(scene: Scene) -> SpanFact | None:
    """The `k` of the failing `topk` or `kthvalue`; `detail`: `tensor`, `dim` and `size` of what it counts in."""
    frame, failing = scene.user_frame, scene.failing
    call = failing.node if failing is not None else None
    if frame is None or failing is None or not isinstance(call, ast.Call):
        return None
    given = [*_receiver(call), *call.args]
    words = {word.arg: word.value for word in call.keywords}
    if called(call) not in ("topk", "kthvalue") or not given:
        return None
    k = words.get("k", given[1] if len(given) > 1 else None)
    along = words.get("dim", given[2] if len(given) > 2 else None)
    tensor, dim = read(given[0], frame.frame), read(along, frame.frame) if along is not None else -1
    tensor = viewed(given[0], frame.frame) if tensor is MISSING else tensor
    if k is None or not is_tensor(tensor) or type(dim) is not int or not -tensor.dim() <= dim < tensor.dim():
        return None
    return span_fact(failing.source, k, tensor=failing.source.text(given[0]), dim=dim, size=tensor.shape[dim])


def _receiver(call: ast.Call) -> list[ast.expr]:
    """What a method is called on; nothing for a function of torch."""
    function = call.func
    method = isinstance(function, ast.Attribute) and ast.unparse(function.value) != "torch"
    return [function.value] if method else []  # type: ignore[attr-defined]


@probe
def narrow_layer(scene: Scene) -> SpanFact | None:
    """The constructor call of the layer whose output is split into more than it has.

    `detail`: `layer`, `has` and `wanted` features, `parameter`, and `wider`: the argument with the missing piece added.
    None where it is not just one piece that is missing.
    """
    frame, failing = scene.user_frame, scene.failing
    call = failing.node if failing is not None else None
    if frame is None or failing is None or not isinstance(call, ast.Call) or called(call) != "split":
        return None
    given = [*_receiver(call), *call.args]
    lists = [one for one in given[1:] if isinstance(one, (ast.List, ast.Tuple))]
    layer = _layer(failing.source, frame, given[0]) if given else None
    sizes = [read(one, frame.frame) for one in lists[0].elts] if lists else []
    has, parameter = _features(layer)
    found = construction(scene, layer) if layer is not None else None
    if found is None or not has or any(type(one) is not int for one in sizes):
        return None
    missing = [one for one, size in zip(lists[0].elts, sizes, strict=True) if size == sum(sizes) - has]
    source, built = found
    node = bound(built, type(layer)).get(parameter)
    if len(missing) != 1 or node is None:
        return None
    wider = f"{source.text(node)} + {_as_parameter(source, built, ast.unparse(missing[0]))}"
    known: dict[str, Any] = {"layer": type(layer).__name__, "has": has, "wanted": sum(sizes)}
    return span_fact(source, built, parameter=parameter, wider=wider, **known)


def _features(layer: Any) -> tuple[int, str]:
    """How many features a layer puts out, and which parameter of its constructor says so."""
    names = [
        name for name in ("out_features", "out_channels", "embedding_dim") if type(getattr(layer, name, None)) is int
    ]
    return (getattr(layer, names[0]), names[0]) if names else (0, "")


def _layer(source: Source, frame: LiveFrame, node: ast.AST) -> Any:
    """The module whose result an expression is, by itself or by the last value of its name."""
    last = last_binding(source, frame, node.id) if isinstance(node, ast.Name) else None
    node = last.value if isinstance(last, ast.Assign) else node
    value = read(node.func, frame.frame) if isinstance(node, ast.Call) else MISSING
    return value if is_module(value) else None


def _as_parameter(source: Source, built: ast.Call, text: str) -> str:
    """An attribute as the constructor's parameter of the same name, where it has one."""
    function = source.function_at(built.lineno)
    names = [one.arg for one in function.args.args] if isinstance(function, ast.FunctionDef) else []
    return text.removeprefix("self.") if text.removeprefix("self.") in names else text
