"""Inputs and targets far from a scale of one, under which the weights of an optimizer blew up, and where they begin."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from typing import Any

from explainer.edits.place import Place
from explainer.facts import Settings, SpanFact
from explainer.probes import probe
from explainer.probes.built import built_in
from explainer.probes.numerics.rates import BEYOND, largest_weight, rate_of
from explainer.probes.numerics.scalers import scaled_beside
from explainer.probes.origin import last_binding
from explainer.probes.owners import optimizers
from explainer.probes.places import span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.values import fields_of, is_module, is_tensor, read, readable
from explainer.source import Source, called, source_of

#: Values of this magnitude make steps of the usual lengths overshoot.
_LARGE = 30.0
_MOST_VALUES = 10_000_000


@probe
def blown_weights(scene: Scene) -> Settings | None:
    """An optimizer whose weights are not finite, or beyond any use: `optimizer` (its class) and `rate`."""
    for optimizer in optimizers(scene):
        if not largest_weight(optimizer) < BEYOND:
            return Settings((("optimizer", type(optimizer).__name__), ("rate", rate_of(optimizer))))
    return None


@probe
def unscaled(scene: Scene) -> SpanFact | None:
    """The statement that binds inputs, or targets, of a model whose values are far beyond one.

    Where a function of the program scales other values behind it, the statement that uses it.
    `detail`: `names`; `code`, the statements that bring each column to mean 0 and deviation 1; `largest`, as text.
    """
    found: dict[Any, list[tuple[str, Any]]] = {}
    for value in _large(scene):
        bound = next(_bound(scene, value), None)
        if bound is not None:
            found.setdefault(bound[:2], []).append(bound[2:])
    for (source, statement), tensors in found.items():
        texts = [text for name, one in tensors if (text := _standardised(name, one))]
        names = ", ".join(name for name, _ in tensors)
        largest = f"{max(_magnitude(one) for _, one in tensors):.0e}"
        beside = scaled_beside(scene, source, statement, [name for name, _ in tensors])
        if beside is not None:
            code = "\n".join(f"{name} = {beside[1]}({name})" for name, _ in tensors)
            return span_fact(source, beside[0], names=names, code=code, largest=largest)
        return span_fact(source, statement, names=names, code="\n".join(texts), largest=largest) if texts else None
    return None


@probe
def first_layer(scene: Scene) -> SpanFact | None:
    """The constructor of the layer that takes a model's large inputs; `detail`: `to`, with a norm layer before it."""
    for _, module, value in _inputs(scene):
        norm = {("Linear", 2): "BatchNorm1d", ("Conv1d", 3): "BatchNorm1d", ("Conv2d", 4): "BatchNorm2d"}
        layers = ((norm.get((type(one).__name__, value.dim())), one) for one in module.modules())
        kind, layer = next(((kind, one) for kind, one in layers if kind), (None, None))
        built = built_in(scene, module, layer) if kind else None
        if built is None or _magnitude(value) < _LARGE:
            continue
        source, call = built
        text, size = source.text(call), value.shape[1]
        prefix = source.text(call.func).removesuffix(type(layer).__name__)
        both, parent = f"{prefix}{kind}({size}), {text}", Place(source, call).parent()
        listed = isinstance(parent, ast.Call) and called(parent) == "Sequential"
        to = both if listed else f"{prefix}Sequential({both})"
        return span_fact(source, call, to=to, kind=kind, largest=f"{_magnitude(value):.0e}")
    return None


def _large(scene: Scene) -> Iterator[Any]:
    """The tensors beyond a scale of one that models and losses were given, inputs first."""
    seen = set()
    for value in (*(value for _, _, value in _inputs(scene)), *_targets(scene)):
        if id(value) not in seen and _magnitude(value) >= _LARGE:
            seen.add(id(value))
            yield value


def _inputs(scene: Scene) -> Iterator[tuple[LiveFrame, Any, Any]]:
    """The calls of models in the user's frames, innermost first: the frame, the module, its first tensor."""
    for frame, call in _calls(scene):
        module = read(call.func, frame.frame)
        value = read(call.args[0], frame.frame) if call.args else None
        trained = is_module(module) and next(module.parameters(), None) is not None
        if trained and _plain(value):
            yield frame, module, value


def _targets(scene: Scene) -> Iterator[Any]:
    """The float tensors without a history that a loss compares with what has one, or with what a model gives."""
    for frame, node in _nodes(scene):
        sides = node.args[:2] if isinstance(node, ast.Call) else []
        sides = [node.left, node.right] if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) else sides
        for one, other in itertools.permutations(sides, 2):
            value = read(other, frame.frame)
            if _plain(value) and _predicted(one, frame):
                yield value


def _predicted(node: ast.expr, frame: LiveFrame) -> bool:
    value = read(node, frame.frame)
    model = read(node.func, frame.frame) if isinstance(node, ast.Call) else None
    return (is_tensor(value) and value.requires_grad) or is_module(model)


def _calls(scene: Scene) -> Iterator[tuple[LiveFrame, ast.Call]]:
    yield from ((frame, node) for frame, node in _nodes(scene) if isinstance(node, ast.Call))


def _nodes(scene: Scene) -> Iterator[tuple[LiveFrame, ast.AST]]:
    """The nodes of the functions on the stack, innermost function first."""
    for frame in reversed(scene.live.user) if scene.live is not None else ():
        source = source_of(frame.file, frame.frame.f_globals)
        scope = source.scope_at(frame.line)
        yield from ((frame, node) for node in (ast.walk(scope) if scope else ()))


def _plain(value: Any) -> bool:
    fits = readable(value, _MOST_VALUES) and value.is_floating_point() and not value.requires_grad
    return bool(fits and value.dim() > 0)


def _magnitude(value: Any) -> float:
    """The largest magnitude of a tensor; 0 where it holds what is not finite: then the data is to blame."""
    largest = float(value.abs().max())
    return largest if largest < float("inf") else 0.0


def _bound(scene: Scene, value: Any) -> Iterator[tuple[Source, ast.stmt, str, Any]]:
    """The assignments of the tensor itself, or of what it is cut from: the whole first, outer frames first."""
    wholes = [*_held(scene, value), value]
    for whole in [one._base for one in wholes if _plain(one._base) and one._base.dim() >= one.dim()] + wholes:
        for frame in scene.live.user if scene.live is not None else ():
            source = source_of(frame.file, frame.frame.f_globals)
            for name in [name for name, one in frame.locals.items() if one is whole and name.isidentifier()]:
                statement = last_binding(source, frame, name)
                if isinstance(statement, ast.Assign):
                    yield source, statement, name, whole


def _held(scene: Scene, value: Any) -> Iterator[Any]:
    """The tensors of the `TensorDataset`s in reach of which a batch may be a part."""
    for frame in scene.live.user if scene.live is not None else ():
        for one in frame.locals.values():
            dataset: Any = one
            for _ in range(3):
                dataset = fields_of(dataset).get("dataset", dataset)
            for tensor in fields_of(dataset).get("tensors") or ():
                if _plain(tensor) and tensor.shape[1:] == value.shape[1:] and _magnitude(tensor) >= _magnitude(value):
                    yield tensor


def _standardised(name: str, value: Any) -> str:
    """`x = (x - x.mean(dim=0)) / x.std(dim=0)`; of pixels `x = x / 255`."""
    if value.dim() > 3:
        return f"{name} = {name} / 255" if _magnitude(value) <= 255 else ""
    dim = {1: "", 2: "dim=0", 3: "dim=(0, 1)"}[value.dim()]
    spread = value.std(dim=tuple(range(value.dim() - 1))) if value.dim() > 1 else value.std()
    guard = "" if bool((spread > 0).all()) else ".clamp(min=1e-6)"
    return f"{name} = ({name} - {name}.mean({dim})) / {name}.std({dim}){guard}"
