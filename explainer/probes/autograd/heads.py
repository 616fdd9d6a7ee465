"""A new last layer put under a name that the model does not use: `model.classifier`, where forward has `fc`."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator
from typing import Any

from explainer.bindings import dotted
from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.autograd.graph import named_modules
from explainer.probes.files import nodes_of
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import fields_of
from explainer.source import Source


@probe
def unused_head(scene: Scene) -> SpanFact | None:
    """The assignment to a model of the only layer that could learn, under a name that its class never reads.

    `detail`: `model`, `key`, the `type` of the layer, and `meant`, the frozen layer of that type that is used last.
    """
    for name, module in named_modules(scene):
        layers, read = fields_of(module).get("_modules", {}), _read(type(module))
        unused = [key for key, layer in layers.items() if key not in read and _learns(layer)]
        if not read or len(unused) != 1 or any(_learns(layer) for key, layer in layers.items() if key in read):
            continue
        kind = type(layers[unused[0]])
        meant = [key for key, layer in layers.items() if key in read and type(layer) is kind]
        places = list(_assigned(scene, name, unused[0]))
        if meant and len(places) == 1:
            return span_fact(*places[0], model=name, key=unused[0], type=kind.__name__, meant=meant[-1])
    return None


def _read(kind: type) -> set[str]:
    """The names that a class's methods use, its constructor's apart; none of torch's own containers."""
    classes = [one for one in kind.__mro__ if not one.__module__.startswith("torch.nn.")]
    functions = [value for one in classes for key, value in vars(one).items() if key != "__init__"]
    return {name for one in functions if isinstance(one, types.FunctionType) for name in one.__code__.co_names}


def _learns(layer: Any) -> bool:
    return any(parameter.requires_grad for parameter in layer.parameters()) if layer is not None else False


def _assigned(scene: Scene, model: str, key: str) -> Iterator[tuple[Source, ast.expr]]:
    targets = ((source, node.targets[0]) for source, node in nodes_of(scene, ast.Assign))
    yield from ((source, one) for source, one in targets if dotted(one) == f"{model}.{key}")
