"""Candidates for the geometry of convolutions: padding, kernel size, output_padding."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.bindings import named_values
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Layer
from explainer.edits.generators.sites import layers_hit
from explainer.edits.generators.slices import operands, trunk
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


def long(evidence: Evidence) -> Iterator[Candidate]:
    """output_padding=0 for one transposed convolution, where a map grew beyond what it is to undo."""
    layers = [s.layer for s in evidence.steps if s.layer and s.layer.type.startswith("ConvTranspose")]
    for layer in {id(one): one for one in layers if one.calls and one.value("output_padding")}.values():
        place = layer.calls[0].place
        if isinstance(place.node, ast.Call) and any(word.arg == "output_padding" for word in place.node.keywords):
            yield from _argument(evidence, layer, "output_padding", 0)


def upsized(evidence: Evidence) -> Iterator[Candidate]:
    """`nn.Upsample(scale_factor=2)` -> `nn.Upsample(size=LENGTH)`: the last one, where rounding left a map short."""
    rows = operands(evidence)
    short, whole = sorted(rows, key=lambda one: math.prod(one.shape))[:2] if len(rows) > 1 else (None, None)
    steps = [one for one in trunk(evidence, short.start) if one.layer is not None] if short is not None else []
    last = next((one for one in steps if one.layer is not None and one.layer.type == "Upsample"), None)
    layer = last.layer if last is not None else None
    if short is None or whole is None or last is None or layer is None or not layer.calls:
        return
    sizes = set(whole.shape[2:])
    place = layer.calls[0].place
    factor = [one for one in getattr(place.node, "keywords", ()) if one.arg == "scale_factor"]
    if not factor or last.shape[2:] != short.shape[2:] or len(sizes) != 1 or short.shape[:2] != whole.shape[:2]:
        return
    wanted = sizes.pop()
    tree = place.source.tree
    constants = [(name, value) for one in (tree.body if tree else ()) for name, value in named_values(one)]
    names = [name for name, value in constants if isinstance(value, ast.Constant) and value.value == wanted]
    new = f"size={next(iter(names), wanted)}"
    yield from evidence.replaced(place.at(factor[0]), new, "replace", "flag", place, new=new, layer="Upsample")


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
        node, function = call.place.node, call.place.source.function_at(call.place.line)
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
