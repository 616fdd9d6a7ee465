"""Activations that tensor parallel layers leave split over the ranks, at a layer that needs them whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.module import below_user, named_module, root_module
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import fields_of, is_tensor
from explainer.wrappers import named_modules


@probe
def split_input(scene: Scene) -> SpanFact | None:
    """The failing call, where it gave a whole layer a rank's share of what it was built for.

    `detail`: `layer`, `wanted` (the size that it was built for), `got`, `ranks`, `by` (the one layer of that many
    outputs whose weight is split by them), `type` (the layer's class).
    """
    found, root, failing = below_user(scene), root_module(scene), scene.failing
    given = [one for one in (*found[-1].args, *found[-1].kwargs.values()) if is_tensor(one)] if found else []
    if not given or failing is None or type(given[0]).__name__ == "DTensor":
        return None
    layer, got = found[-1].module, int(given[0].shape[-1]) if given[0].ndim else 0
    wanted = _last(layer)
    sources = [(path, ranks) for path, ranks in _split(root, wanted) if got * ranks == wanted]
    if len(sources) != 1:
        return None
    path, ranks = sources[0]
    name = named_module(scene, layer).name
    about = {"layer": name, "type": type(layer).__name__, "by": path, "ranks": ranks}
    return span_fact(failing.source, failing.node, **about, wanted=wanted, got=got)


def _last(layer: Any) -> int:
    """The size of the last dimension that a layer's own plain weight takes; 0 where it has none, or a split one."""
    weight = _weight(layer)
    plain = is_tensor(weight) and type(weight).__name__ != "DTensor" and weight.ndim > 0
    return int(weight.shape[-1]) if plain else 0


def _split(root: Any, outputs: int) -> Iterator[tuple[str, int]]:
    """The layers below a model whose weight is split by so many outputs, with the number of ranks that share it."""
    for path, module in named_modules(root):
        weight = _weight(module)
        if type(weight).__name__ == "DTensor" and weight.ndim == 2 and int(weight.shape[0]) == outputs:
            for size, placement in zip(weight.device_mesh.shape, weight.placements, strict=True):
                if placement.is_shard(0):
                    yield path, int(size)


def _weight(module: Any) -> Any:
    return (fields_of(module).get("_parameters") or {}).get("weight")
