"""Candidates for what was made of a whole tensor where the program goes on with a slice of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from math import prod
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place
from explainer.source import holds


def sliced_alike(evidence: Evidence) -> Iterator[Candidate]:
    """`mask_of(ids)` -> `mask_of(ids[:, :-1])`, as the same function slices `ids` for the model."""
    said = set(evidence.said)
    seen: set[tuple[int, int, str]] = set()
    for place in (place for step in evidence.steps for place in step.places):
        for given in _names(place):
            frame = evidence.frame_of(given)
            shape = frame.shape(given.text) if frame is not None else []
            shifted = isinstance(place.node, ast.BinOp) or _is_loss(evidence)
            for text, sizes in _slices(given, shape, shifted) if shape else ():
                at = (given.span.line, given.span.column or 0, text)
                pairs = [*zip(shape, sizes, strict=True), (prod(shape), prod(sizes))]
                if at not in seen and any(_fits(old, new, said) for old, new in pairs):
                    seen.add(at)
                    words: dict[str, Any] = {"what": given.text, "new": text}
                    yield from evidence.replaced(given, text, "replace", "slice-alike", **words)


def _fits(old: int, new: int, said: set[int]) -> bool:
    return old != new and old in said and new in said


def _names(place: Place) -> list[Place]:
    """The arguments of a call, the receiver of a method and the operands of an operator that are plain names."""
    node = place.node
    if isinstance(node, ast.BinOp):
        return [place.at(one) for one in (node.left, node.right) if isinstance(one, ast.Name)]
    given = [*node.args, *(word.value for word in node.keywords)] if isinstance(node, ast.Call) else []
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        given.append(node.func.value)
    return [place.at(one) for one in given if isinstance(one, ast.Name)]


def _is_loss(evidence: Evidence) -> bool:
    return evidence.crash is not None and re.search("loss|entropy", evidence.crash.function) is not None


def _slices(given: Place, shape: list[int], shifted: bool) -> Iterator[tuple[str, list[int]]]:
    """The slices that the function of a place takes of a name, each with the shape that it has.

    A loss, or an operator, compares what comes next with what went in: there the other end is left out first
    (`shifted`).
    """
    function = given.source.function_at(given.node.lineno)
    subscripts = [node for node in given.source.nodes() if isinstance(node, ast.Subscript)]
    for node in subscripts:
        if isinstance(node.ctx, ast.Load) and (function is None or holds(function, node.lineno)):
            sizes = _sizes(node.slice, shape) if given.source.text(node.value) == given.text else None
            text = given.source.text(node)
            both = [_other_end(text), text] if shifted else [text, _other_end(text)]
            yield from ((one, sizes) for one in both if sizes is not None)


def _other_end(text: str) -> str:
    """`ids[:, :-1]` -> `ids[:, 1:]` and the reverse; any other slice as it is."""
    if ":-" in text:
        return re.sub(r":-(\d+)(?=[,\]])", r"\1:", text)
    return re.sub(r"\b(\d+):(?=[,\]])", r":-\1", text)


def _sizes(index: ast.expr, shape: list[int]) -> list[int] | None:
    """The shape behind slices that are written in numbers; None for any other index."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    if len(parts) > len(shape) or not all(isinstance(one, ast.Slice) for one in parts):
        return None
    try:
        cut = [slice(*(_number(end) for end in (one.lower, one.upper, one.step))) for one in parts]  # type: ignore
    except ValueError:
        return None
    return [len(range(*one.indices(size))) for one, size in zip(cut, shape, strict=False)] + shape[len(cut) :]


def _number(node: ast.expr | None) -> int | None:
    return None if node is None else int(ast.literal_eval(node))
