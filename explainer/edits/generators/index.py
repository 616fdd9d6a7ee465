"""Candidates for indices, labels and dimensions out of range."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Layer
from explainer.edits.generators.sites import LEAVING
from explainer.edits.generators.slices import operands, trunk
from explainer.edits.kinds.arguments import set_argument
from explainer.edits.place import Place, fitted
from explainer.replay.recorders.taint import literals

#: What stands around the largest of some values and gives it as a plain number.
_AROUND = ("int(", "max(")
_VALUES = ("tensor", "as_tensor")
#: Labels that go this many times beyond the classes, or are seen so often each, are the numbers of something else.
_FAR, _OFTEN = 3, 4


def lengths(evidence: Evidence) -> Iterator[Candidate]:
    """`len(x)` -> `len(x) + 1`, or what is missing, where a count that the failing call depends on is a length."""
    leaves: dict[Any, list] = {}
    for tree in [*_trees(evidence)]:
        for leaf in literals(tree):
            if leaf[0] == "len":
                leaves.setdefault(tuple(leaf[1]), leaf)
    said = set(evidence.said)
    for leaf in sorted(leaves.values(), key=lambda leaf: leaf[-1] not in said):
        place = evidence.place(leaf[1])
        if place is not None:
            for more in dict.fromkeys((1, _missing(evidence))):
                new = f"{place.text} + {more}"
                kind = "one-more" if more == 1 else "more"
                yield from evidence.replaced(place, fitted(place, new), "replace", kind, new=new)
    yield from _largest(evidence)


def _largest(evidence: Evidence) -> Iterator[Candidate]:
    """`int(ids.max())` -> `int(ids.max()) + 1`: the largest index taken for how many there are."""
    for source in evidence.sources_seen():
        for node in source.nodes():
            if not isinstance(node, ast.Call) or not _is_largest(node):
                continue
            place = Place(source, node)
            outer = place.parent()
            while isinstance(outer, (ast.Call, ast.Attribute)) and source.text(outer).startswith(_AROUND):
                place = place.at(outer)
                outer = place.parent()
            if not isinstance(outer, (ast.BinOp, ast.Attribute, ast.Subscript, ast.Compare)):
                new = f"{place.text} + 1"
                yield from evidence.replaced(place, new, "replace", "one-more", new=new)


def _is_largest(node: ast.Call) -> bool:
    if isinstance(node.func, ast.Name):
        return node.func.id == "max" and len(node.args) == 1
    return isinstance(node.func, ast.Attribute) and node.func.attr in ("max", "amax") and not node.args


def _missing(evidence: Evidence) -> int:
    """How many rows the failing table has too few for the largest index; 1 where that is not known."""
    crash = evidence.crash
    high = max((extent[1] for extent in (crash.extents if crash else ()) if extent is not None), default=0)
    rows = [layer.value("num_embeddings") for layer in _tables(evidence) if layer.type.startswith("Embedding")]
    return max(1, high + 1 - rows[0]) if rows and rows[0] else 1


def _trees(evidence: Evidence) -> Iterator[list]:
    for step in evidence.steps:
        if step.function not in _VALUES:  # their numbers are values, not sizes
            yield from step.numbers
    for layer in evidence.layers_around():
        for trees in layer.numbers.values():
            yield from trees


def _tables(evidence: Evidence) -> list[Layer]:
    """The embedding that failed, or the layers that gave the scores."""
    crash = evidence.crash
    found = [crash.layer] if crash and crash.layer and crash.layer.type.startswith("Embedding") else []
    for operand in operands(evidence):
        for step in trunk(evidence, operand.start, 8):
            if step.layer is not None and step.layer.type in LEAVING:
                found.append(step.layer)
                break
    return found


def ignored(evidence: Evidence) -> Iterator[Candidate]:
    """`ignore_index` for a label that stands for no class: a negative one, or 255 among few classes."""
    crash = evidence.crash
    if crash is None or ("nll" not in crash.function and "cross_entropy" not in crash.function):
        return
    for extent in (one for one in crash.extents if one is not None):
        value = extent[0] if extent[0] < 0 else extent[1]
        classes = crash.before[0][0][1] if len(crash.before[0][0]) > 1 else 0
        if extent[0] < 0 or (value == 255 and classes < 255):
            call = crash.layer.calls[0].place if crash.layer and crash.layer.calls else crash.place
            if call is not None:
                edits = partial(set_argument, call, "ignore_index", value)
                words: dict[str, Any] = {"new": f"ignore_index={value}", "layer": crash.function}
                yield from evidence.made(edits, "set-argument", call, "flag", **words)
