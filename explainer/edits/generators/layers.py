"""Candidates around a layer: channels brought to where it reads them, `nn.Flatten`, its kind for another rank."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Layer, Step
from explainer.edits.generators.sites import LEAVING, layers_hit
from explainer.edits.generators.slices import trunk
from explainer.edits.generators.squeezed import squeezed
from explainer.edits.kinds import arguments, methods
from explainer.edits.kinds.statements import nn_name
from explainer.edits.lines import changed
from explainer.edits.place import as_primary

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


def around(evidence: Evidence) -> Iterator[Candidate]:
    """All candidates of this file for the failing call."""
    yield from _flattened(evidence)
    yield from flattened_elsewhere(evidence)
    yield from squeezed(evidence)
    yield from _other_rank(evidence)
    if evidence.crash is not None:
        yield from _around(evidence, evidence.crash)


def _flattened(evidence: Evidence) -> Iterator[Candidate]:
    """`nn.Flatten()` before the linear layer of an `nn.Sequential` that gets feature maps."""
    for layer, step in layers_hit(evidence):
        shape = step.before[0][0] if step.before else []
        call = layer.calls[0].place if layer.calls else None
        if call is None or len(shape) < 3 or layer.value("in_features") != math.prod(shape[1:]):
            continue
        parent = call.parent()
        if isinstance(parent, ast.Call) and call.source.text(parent.func).endswith("Sequential"):
            flatten = f"{nn_name(call)}.Flatten()"
            yield from evidence.replaced(call, f"{flatten}, {call.text}", "replace", "flatten", new=flatten)


def flattened_elsewhere(evidence: Evidence) -> Iterator[Candidate]:
    """`x.flatten()` or `x.flatten(2)` -> `x.flatten(1)`: what joins the samples of a batch too, or not all the rest."""
    for step in evidence.steps[1:12]:
        rank = len(step.before[0][0]) if step.before else 0
        layer = step.layer if step.layer is not None and step.layer.type == "Flatten" else None
        place = layer.calls[0].place if layer is not None and layer.calls else step.place
        if step.function != "flatten" or rank < 3 or place is None or not isinstance(place.node, ast.Call):
            continue
        if step.before[0][0][0] != step.shape[0] or len(step.shape) > 2:
            edits = partial(arguments.set_argument, place, "start_dim", 1)
            yield from evidence.made(edits, "set-argument", place, "flag", new="start_dim=1", layer="flatten")


def _made_at(evidence: Evidence, step: Step) -> int | None:
    """In which dimension the layer behind a call put its features, where nothing has moved them since."""
    shape = step.before[0][0] if step.before else []
    for behind in trunk(evidence, step.inputs[0] if step.inputs else None, 12):
        if behind.layer is not None and behind.layer.type in LEAVING:
            return LEAVING[behind.layer.type][1] if behind.shape == shape else None
        if behind.function not in _KEEPING or behind.shape != shape:
            return None
    return None


def _around(evidence: Evidence, crash: Step) -> Iterator[Candidate]:
    """A layer's channels brought to the dimension that it reads, and its result moved back."""
    if crash.place is None:
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


def _other_rank(evidence: Evidence) -> Iterator[Candidate]:
    """`nn.BatchNorm1d` -> `nn.BatchNorm2d` where the input has a dimension more; `batch_first=True`."""
    for layer, step in layers_hit(evidence):
        call = layer.calls[0].place if layer.calls else None
        rank = len(step.before[0][0]) if step.before else 0
        if call is None or not isinstance(call.node, ast.Call):
            continue
        if layer.type[-2:] in ("1d", "2d", "3d") and rank >= 3 and layer.type[-2] != str(rank - 2):
            new = f"{layer.type[:-2]}{rank - 2}d"
            edits = partial(methods.replace_call, call, new)
            yield from evidence.made(edits, "replace-call", call, "rename", old=layer.type, new=new)
    for layer in evidence.layers_around():
        if layer.type in ("LSTM", "GRU", "RNN", "MultiheadAttention", "TransformerEncoderLayer") and layer.calls:
            call = layer.calls[0].place
            if isinstance(call.node, ast.Call) and not any(word.arg == "batch_first" for word in call.node.keywords):
                edits = partial(arguments.set_argument, call, "batch_first", True)
                words: dict[str, Any] = {"new": "batch_first=True", "layer": layer.type}
                yield from evidence.made(edits, "set-argument", call, "flag", **words)
