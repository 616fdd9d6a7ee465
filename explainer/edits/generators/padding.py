"""Candidates for the geometry of convolutions: padding, kernel size, output_padding."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Layer
from explainer.edits.generators.sites import layers_hit
from explainer.edits.kinds import arguments
from explainer.edits.kinds.arguments import argument_node
from explainer.edits.lines import joined
from explainer.edits.place import Place


def padded(evidence: Evidence) -> Iterator[Candidate]:
    """Padding for a kernel larger than its input, and for convolutions that are to keep their map."""
    for layer, _ in layers_hit(evidence):
        kernel = layer.value("kernel_size")
        if layer.type.startswith("Conv") and kernel and "ernel" in evidence.message:
            yield from _argument(evidence, layer, "padding", kernel // 2)
            yield from _argument(evidence, layer, "kernel_size", max(1, kernel - 2))
    convolutions = [s.layer for s in evidence.steps if s.layer and s.layer.type.startswith("Conv")]
    for layer in {id(one): one for one in convolutions if not one.type.startswith("ConvTranspose")}.values():
        kernel = layer.value("kernel_size") or 1
        if kernel > 1 and layer.value("stride") in (None, 1) and _dilated(layer):
            yield from _argument(evidence, layer, "padding", '"same"')
        if kernel > 1 and layer.value("padding") != kernel // 2:
            yield from _argument(evidence, layer, "padding", kernel // 2)


def short(evidence: Evidence) -> Iterator[Candidate]:
    """output_padding for transposed convolutions, which fall short of what they are to undo."""
    transposed = [s.layer for s in evidence.steps if s.layer and s.layer.type.startswith("ConvTranspose")]
    unique = {id(layer): layer for layer in transposed if (layer.value("stride") or 1) > 1}.values()
    for layer in unique:
        yield from _argument(evidence, layer, "output_padding", 1)
    yield from _all_padded(evidence, list(unique))


def _dilated(layer: Layer) -> bool:
    """Whether a convolution is given a dilation: what keeps its map as it is then differs from call to call."""
    return any(argument_node(call.place, "dilation") is not None for call in layer.calls[:1])


def _argument(evidence: Evidence, layer: Layer, argument: str, value: int | str) -> Iterator[Candidate]:
    call = _written(layer, argument)
    edits = partial(arguments.set_argument, call, argument, value)
    yield from evidence.made(edits, "set-argument", call, "padding", layer=layer.type, argument=argument, new=value)


def _written(layer: Layer, argument: str) -> Place:
    """The call to give a layer's argument in: its own, or that which hands it on through `**kwargs`."""
    for call in layer.calls:
        node, function = call.place.node, call.place.source.function_at(call.place.span.line)
        rest = function.args.kwarg.arg if function is not None and function.args.kwarg is not None else None
        spread = [one.value for one in getattr(node, "keywords", ()) if one.arg is None]
        given = any(one.arg == argument for one in getattr(node, "keywords", ()))
        if given or rest is None or rest not in [one.id for one in spread if isinstance(one, ast.Name)]:
            return call.place
    return layer.calls[0].place


def _all_padded(evidence: Evidence, layers: list[Layer]) -> Iterator[Candidate]:
    """The same argument for all transposed convolutions of one file at once."""
    calls = sorted((layer.calls[0].place for layer in layers), key=lambda place: place.node.lineno)
    if len(calls) < 2 or len({call.source.file for call in calls}) > 1:
        return
    each = [arguments.set_argument(call, "output_padding", 1) for call in calls]
    edits = partial(joined, calls[0].source, *each)
    words: dict[str, Any] = {"layer": layers[0].type, "argument": "output_padding", "new": 1}
    yield from evidence.made(edits, "set-argument", calls[0], "padding", **words)
