"""Sizes: a literal or an argument of a layer that no longer fits the others."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutations.mutant import Change, Place, places
from mutations.programs import Program, Source

#: Tags of `# ties:` comments that bound values, not shapes.
RANGES = ("classes", "vocab", "length")
SHAPE = ("shape", "view", "dataloader", "checkpoint")
LAYERS = (
    "Linear",
    "Conv1d",
    "Conv2d",
    "ConvTranspose2d",
    "Embedding",
    "LSTM",
    "GRU",
    "GRUCell",
    "LSTMCell",
    "LayerNorm",
    "BatchNorm1d",
    "BatchNorm2d",
    "MultiheadAttention",
    "EmbeddingBag",
    "Bilinear",
)


def literals(program: Program, source: Source) -> Iterator[Change]:
    """Another number for a literal that has a tag."""
    for line, tags in source.ties.items():
        for node, tag in zip(source.literals(line), tags, strict=True):
            if tag == "-":
                continue
            name = tag.lstrip("~")
            limits = name in RANGES
            family = (*SHAPE, "index") if limits else SHAPE
            for value in dict.fromkeys((node.value + 1, node.value * 2, node.value // 2, node.value + 3)):
                start, end = source.span(node)
                what = f"{node.value} became {value}"
                yield Change(
                    "range" if limits else "size", family, what, start, end, str(value), frozenset(program.tied(name))
                )


def arguments(program: Program, source: Source) -> Iterator[Change]:
    """Another size for a name that is a layer's argument: the layer beside it that shares the name is as good."""
    for call in layers(source):
        for index, argument in enumerate(call.args[:2]):
            if not isinstance(argument, (ast.Name, ast.Attribute)):
                continue
            start, end = source.span(argument)
            name = source.code(argument)
            for text in (f"2 * {name}", f"{name} + 1"):
                yield Change(
                    "size-name", SHAPE, f"{name} became {text}", start, end, text, _beside(source, call, index, name)
                )


def swapped(program: Program, source: Source) -> Iterator[Change]:
    """A layer's first two arguments the wrong way round."""
    for call in layers(source):
        if len(call.args) >= 2:
            first, second = call.args[:2]
            text = f"{source.code(second)}, {source.code(first)}"
            yield Change(
                "size-swap", (*SHAPE, "index"), "arguments swapped", source.span(first)[0], source.span(second)[1], text
            )


def layers(source: Source) -> Iterator[ast.Call]:
    """The calls that build a layer with sizes."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LAYERS:
            yield node


def _beside(source: Source, call: ast.Call, index: int, name: str) -> frozenset[Place]:
    """The line of the nearest layer before (for an input size) or after it whose arguments hold the name."""
    own = (call.lineno, call.col_offset)
    others = sorted(
        (other.lineno, other.col_offset)
        for other in layers(source)
        if other is not call and any(name in source.code(one) for one in [*other.args, *other.keywords])
    )
    beside = [at for at in others if at < own][-1:] if index == 0 else [at for at in others if at > own][:1]
    single = len(call.args) < 2 or not call.func.attr.startswith(("Linear", "Conv"))  # type: ignore[attr-defined]
    if single:
        beside = [at for at in others if at < own][-1:] + [at for at in others if at > own][:1]
    return places(source, (line for line, _ in beside))
