"""Candidates around a layer: its channels brought to where it reads them, and back behind it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Layer, Step
from explainer.edits.generators.sites import LEAVING, layers_hit
from explainer.edits.generators.slices import trunk
from explainer.edits.lines import changed
from explainer.edits.place import as_primary
from explainer.source import called

#: Calls behind which the dimensions mean what they meant before.
_KEEPING = (
    "relu",
    "gelu",
    "tanh",
    "sigmoid",
    "leaky_relu",
    "elu",
    "silu",
    "dropout",
    "add",
    "__add__",
    "mul",
    "contiguous",
)


def _made_at(evidence: Evidence, step: Step) -> int | None:
    """In which dimension the layer behind a call put its features, where nothing has moved them since."""
    shape = step.before[0][0] if step.before else []
    for behind in trunk(evidence, step.inputs[0] if step.inputs else None, 12):
        if behind.layer is not None and behind.layer.type in LEAVING:
            return LEAVING[behind.layer.type][1] if behind.shape == shape else None
        if behind.function not in _KEEPING or behind.shape != shape:
            return None
    return None


def around(evidence: Evidence) -> Iterator[Candidate]:
    """A layer's channels brought to the dimension that it reads, and its result moved back."""
    crash = evidence.crash
    if crash is None or crash.place is None:
        return
    for layer, step in layers_hit(evidence):
        shape = step.before[0][0] if step.before else []
        node = crash.place.node
        way = _there(layer, shape)
        if way is None or not isinstance(node, ast.Call) or not node.args:
            continue
        if _by_channel(layer) and _made_at(evidence, step) == 1:
            continue
        size, there, back = way
        given = crash.place.at(node.args[0])
        moved = [(given.span, f"{as_primary(given)}.{there}"), (crash.place.end, f".{back}")]
        edits = partial(changed, given.source, moved)
        yield from evidence.made(edits, "insert-method", crash.place, "around", what=given.text[:48], size=size)


def _by_channel(layer: Layer) -> bool:
    return bool(layer.value("num_features") or layer.value("num_channels"))


def _there(layer: Layer, shape: list[int]) -> tuple[int, str, str] | None:
    """A layer's features, how they come to the dimension that it reads, and how they go back."""
    last, first = ("permute(0, 2, 3, 1)", "permute(0, 3, 1, 2)") if len(shape) == 4 else ("transpose(1, 2)",) * 2
    features = layer.value("normalized_shape") or layer.value("in_features")
    channels = layer.value("num_features") or layer.value("num_channels")
    if len(shape) in (3, 4) and features == shape[1] != shape[-1]:
        return features, last, first
    if len(shape) in (3, 4) and channels == shape[-1] != shape[1]:
        return channels, first, last
    return None


def over_channels(evidence: Evidence) -> Iterator[Candidate]:
    """`nn.LayerNorm(channels)` -> `nn.GroupNorm(1, channels)`, where the channels stand in front of other dimensions.

    It normalises each sample over all of them, with a scale and a shift for each channel.
    """
    for layer, step in layers_hit(evidence):
        shape = step.before[0][0] if step.before else []
        place = layer.calls[0].place if layer.type == "LayerNorm" and layer.calls else None
        node = place.node if place is not None else None
        if place is None or not isinstance(node, ast.Call) or not node.args or len(shape) < 3:
            continue
        if layer.value("normalized_shape") == shape[1] != shape[-1] and called(node) == "LayerNorm":
            head, given = place.source.text(node.func), place.source.text(node.args[0])
            new = f"{head[: -len('LayerNorm')]}GroupNorm(1, {given})"
            yield from evidence.replaced(place, new, "replace", "rename", new=new, old=place.text)
