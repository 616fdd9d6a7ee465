"""Patterns of einops and einsum: letters exchanged, left out, in another group, or given another size."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator

from mutations.mutant import Change
from mutations.programs import Program, Source
from mutations.uses import chain

PATTERN = ("shape", "view", "index", "unsupported", "api")
_AXES = re.compile(r"[A-Za-z_]\w*")


def einops(program: Program, source: Source) -> Iterator[Change]:
    """`b n (h d) -> b h n d`: two axes of one side exchanged, one left out, one more; a size that is left out."""
    for call, node in _patterns(source, "rearrange", "repeat", "reduce", "Rearrange", "Reduce"):
        left, _arrow, right = node.value.partition("->")
        texts = {
            *(f"{left}->{one}" for one in _exchanged(right)),
            *(f"{one}->{right}" for one in _exchanged(left)),
            *(f"{left}->{one}" for one in _without(right)),
            f"{left.rstrip()} z -> {right.strip()} z",
            f"{right.strip()} -> {left.strip()}",
        }
        for text in sorted(texts - {node.value}):
            yield _replaced(program, source, call, node, "einops", text)
        for keyword in call.keywords[1:]:
            start, end = source.span(keyword)
            start = source.text.rindex(",", 0, start)
            also = chain(program, source, call)
            yield Change("einops", PATTERN, f"{keyword.arg}= left out", start, end, "", also)


def einsum(program: Program, source: Source) -> Iterator[Change]:
    """`b i d, b j d -> b i j`: two letters of an operand or of the result exchanged, one left out of the result."""
    for call, node in _patterns(source, "einsum"):
        left, _arrow, right = node.value.partition("->")
        operands = left.split(",")
        texts = {f"{left}->{one}" for one in (*_exchanged(right), *_without(right))}
        for index, operand in enumerate(operands):
            for one in _exchanged(operand):
                texts.add(",".join((*operands[:index], one, *operands[index + 1 :])) + f"->{right}")
        for text in sorted(texts - {node.value}):
            yield _replaced(program, source, call, node, "einsum", text)


def _patterns(source: Source, *names: str) -> Iterator[tuple[ast.Call, ast.Constant]]:
    for call in ast.walk(source.tree):
        if isinstance(call, ast.Call) and getattr(call.func, "attr", getattr(call.func, "id", "")) in names:
            for node in call.args:
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and "->" in node.value:
                    yield call, node


def _exchanged(side: str) -> Iterator[str]:
    """The side of a pattern with two axes that follow each other exchanged."""
    axes = list(_AXES.finditer(side)) if " " in side.strip() else list(re.finditer(r"[A-Za-z]", side))
    for one, other in itertools.pairwise(axes):
        between = side[one.end() : other.start()]
        yield side[: one.start()] + other[0] + between + one[0] + side[other.end() :]


def _without(side: str) -> Iterator[str]:
    axes = list(_AXES.finditer(side)) if " " in side.strip() else list(re.finditer(r"[A-Za-z]", side))
    if len(axes) > 1:
        yield side[: axes[0].start()] + side[axes[0].end() :].lstrip()
        yield side[: axes[-1].start()].rstrip() + side[axes[-1].end() :]


def _replaced(program: Program, source: Source, call: ast.Call, node: ast.Constant, kind: str, text: str) -> Change:
    what, also = f"{node.value!r} became {text!r}", chain(program, source, call)
    return Change(kind, PATTERN, what, *source.span(node), repr(text), also)
