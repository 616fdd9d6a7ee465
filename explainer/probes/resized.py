"""A checkpoint with other sizes than the model: which layer, where it was built, what it was saved with."""

from __future__ import annotations

from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.built import bound, construction_below
from explainer.probes.checkpoint import changed_sizes, load_frame
from explainer.probes.places import spanned
from explainer.probes.scene import Scene
from explainer.probes.values import fields_of, is_module

#: The constructor parameter that each dimension of a layer's weight comes from, and its position.
PARAMETERS = {
    "Linear": ("out_features", "in_features"),
    "Embedding": ("num_embeddings", "embedding_dim"),
    "Conv1d": ("out_channels", "in_channels"),
    "Conv2d": ("out_channels", "in_channels"),
    "Conv3d": ("out_channels", "in_channels"),
    "BatchNorm1d": ("num_features",),
    "BatchNorm2d": ("num_features",),
}


@probe
def resized_layer(scene: Scene) -> SpanFact | None:
    """The constructor call of the only layer whose `weight` (and `bias`) a checkpoint holds in other sizes.

    `detail.layer` is its path, `type` its class, `saved` and `own` the two shapes of its weight, `argument` the one
    constructor parameter that makes the difference, `given` its source, `to` its value when the checkpoint was saved.
    """
    frame, changed = load_frame(scene), changed_sizes(scene)
    paths = {row["key"].rpartition(".")[0] for row in changed or ()}
    if frame is None or len(paths) != 1:
        return None
    path, root = paths.pop(), frame.locals["self"]
    module = _at(root, path)
    weight = next((row for row in changed or () if row["key"] == f"{path}.weight"), None)
    names = PARAMETERS.get(type(module).__name__, ())
    if weight is None or len(weight["saved"]) != len(weight["own"]) or getattr(module, "groups", 1) != 1:
        return None
    odd = [at for at, (saved, own) in enumerate(zip(weight["saved"], weight["own"], strict=True)) if saved != own]
    found = construction_below(root, path, module) if path else None
    if found is None or len(odd) != 1 or odd[0] >= len(names):
        return None
    source, call = found
    node = bound(call, type(module)).get(names[odd[0]])
    about = {"layer": path, "type": type(module).__name__, "saved": weight["saved"], "own": weight["own"]}
    argument = {"argument": names[odd[0]], "to": weight["saved"][odd[0]], "now": weight["own"][odd[0]]}
    return spanned(source, call, **about, **argument, given=source.text(node)) if node is not None else None


def _at(root: Any, path: str) -> Any:
    for part in path.split(".") if path else ():
        root = (fields_of(root).get("_modules") or {}).get(part)
    return root if is_module(root) else None
