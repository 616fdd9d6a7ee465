"""Where a layer's argument is decided: the constructor's argument, followed through parameters to the outer calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from explainer.edits.evidence import Evidence, Layer, Step, Tree
from explainer.edits.kinds.arguments import argument_node
from explainer.edits.lines import EditError
from explainer.edits.place import Place
from explainer.frozen import frozen
from explainer.source import walked

#: The argument that the input decides, and the dimension in which it shows.
_ARRIVING = {
    "LayerNorm": ("normalized_shape", -1),
    "RMSNorm": ("normalized_shape", -1),
    "GroupNorm": ("num_channels", 1),
    "MultiheadAttention": ("embed_dim", -1),
    "PReLU": ("num_parameters", 1),
    "TransformerEncoderLayer": ("d_model", -1),
    "TransformerDecoderLayer": ("d_model", -1),
}


@frozen
class Site:
    """An expression that gives a layer's argument its value, with what is in scope there."""

    place: Place
    scope: Mapping[str, Any]
    call: Place

    @property
    def plain(self) -> bool:
        """Whether it is arithmetic on numbers alone."""
        return not any(isinstance(node, (ast.Name, ast.Attribute, ast.Call)) for node in walked(self.place.node))


def sites(layer: Layer, argument: str) -> Iterator[Site]:
    """The constructor's argument, then, as long as it is a bare parameter, the argument that the caller passed."""
    parameters = list(layer.parameters) if layer.own else None
    for call in layer.calls:
        node = call.place.node
        if not isinstance(node, ast.Call):
            return
        try:
            given = argument_node(call.place, argument, parameters)
        except EditError:
            return
        if given is None:
            return
        yield Site(call.place.at(given), call.scope, call.place)
        if not isinstance(given, ast.Name):
            return
        function = enclosing(call.place)
        if function is None or given.id not in function:
            return
        argument, parameters = given.id, function


def layers_hit(evidence: Evidence) -> list[tuple[Layer, Step]]:
    """The layer whose call failed, with the call."""
    crash = evidence.crash
    if crash is None:
        return []
    layer = crash.layer or (evidence.on_stack[-1] if evidence.on_stack else None)
    return [(layer, crash)] if layer is not None and not layer.own else []


def trees_hit(evidence: Evidence) -> Iterator[tuple[Tree, int]]:
    """What the layer whose call failed was built for, as trees of numbers, with the size that arrives."""
    for layer, step in layers_hit(evidence):
        need = arriving(layer, step)
        yield from ((tree, need[1]) for tree in layer.numbers.get(need[0], ())) if need is not None else ()


def enclosing(call: Place) -> list[str] | None:
    """The parameter names, without `self`, of the function in which a call stands."""
    function = call.source.function_at(call.node.lineno)
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    return [one.arg for one in function.args.args if one.arg != "self"]


def channels_of(layer: Layer, shape: list[int]) -> int | None:
    """The size of the channel dimension that a convolution or batch norm reads."""
    rank = {"1d": 1, "2d": 2, "3d": 3}.get(layer.type[-2:], 0)
    if layer.type.startswith("BatchNorm") or layer.type.startswith("InstanceNorm"):
        return shape[1] if len(shape) > 1 else None
    if len(shape) == rank + 2:
        return shape[1]
    return shape[0] if len(shape) == rank + 1 else None


def arriving(layer: Layer, step: Step) -> tuple[str, int] | None:
    """The argument of a layer that its input's shape decides, and what it should be for this input."""
    shape = step.before[0][0] if step.before else []
    if not shape:
        return None
    kind = layer.type
    if kind == "Linear":
        return "in_features", shape[-1]
    if kind.startswith(("Conv", "BatchNorm", "InstanceNorm")):
        size = channels_of(layer, shape)
        name = "in_channels" if kind.startswith("Conv") else "num_features"
        return (name, size) if size else None
    if kind in ("LSTM", "GRU", "RNN", "LSTMCell", "GRUCell", "RNNCell"):
        return "input_size", shape[-1]
    if kind in _ARRIVING and len(shape) > 1:
        argument, at = _ARRIVING[kind]
        return argument, shape[at]
    return None


#: What a layer reads and what it gives, each by the other's name.
_PAIRED = (("in_features", "out_features"), ("in_channels", "out_channels"), ("input_size", "hidden_size"),
           ("num_embeddings", "embedding_dim"))  # fmt: skip
ENDS = {one: other for pair in _PAIRED for one, other in (pair, pair[::-1])}
#: The argument that decides the size of what a layer gives, and the dimension it shows in.
LEAVING = {
    "Linear": ("out_features", -1), "Embedding": ("embedding_dim", -1), "LSTM": ("hidden_size", -1),
    "GRU": ("hidden_size", -1), "RNN": ("hidden_size", -1), "Conv1d": ("out_channels", 1),
    "Conv2d": ("out_channels", 1), "Conv3d": ("out_channels", 1), "ConvTranspose1d": ("out_channels", 1),
    "ConvTranspose2d": ("out_channels", 1),
    "ConvTranspose3d": ("out_channels", 1), "LSTMCell": ("hidden_size", -1), "GRUCell": ("hidden_size", -1),
    "EmbeddingBag": ("embedding_dim", -1), "AdaptiveAvgPool1d": ("output_size", -1),
    "AdaptiveAvgPool2d": ("output_size", -1),
}  # fmt: skip
