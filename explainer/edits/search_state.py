"""Candidates for values given to every element or step: hidden states with their batch first, weights by channel."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial
from math import prod
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.lines import changed
from explainer.edits.place import Place, bound_above
from explainer.edits.slices import argument_places
from explainer.patterns import Pattern

_HIDDEN = Pattern(r"Expected hidden(?:\[\d\])? size \((\d+), (\d+), (\d+)\), got \[(\d+), (\d+), (\d+)\]")
_CREATORS = ("zeros", "ones", "randn", "rand", "empty", "new_zeros")


def batch_second(evidence: Evidence) -> Iterator[Candidate]:
    """`zeros(batch, layers, hidden)` -> `zeros(layers, batch, hidden)`: a hidden state that has its batch first."""
    said = _HIDDEN.search(evidence.message)
    sizes = [int(number) for number in said.groups()] if said else []
    if not sizes or sizes[3:] != [sizes[1], sizes[0], sizes[2]]:
        return
    for step in evidence.steps[1:20]:
        node = step.place.node if step.place is not None else None
        if step.function not in _CREATORS or step.shape != sizes[3:] or not isinstance(node, ast.Call):
            continue
        given = _sizes(step.place, node) if step.place is not None else []
        if step.place is not None and len(given) >= 2:
            yield from _exchanged(evidence, step.place, given[0], given[1])


def _sizes(place: Place, call: ast.Call) -> list[ast.expr]:
    """The sizes that a call is given: its arguments, a tuple of them, or the tuple that a name was bound to before."""
    first: Any = call.args[0] if len(call.args) == 1 else None
    first = first.value if isinstance(first, ast.Starred) else first
    if isinstance(first, ast.Name):
        bound = bound_above(place.source.scope_at(place.node.lineno), first.id, place.node.lineno)
        first = bound.value if bound is not None else None
    return first.elts if isinstance(first, (ast.Tuple, ast.List)) else call.args


def _exchanged(evidence: Evidence, call: Place, one: ast.expr, other: ast.expr) -> Iterator[Candidate]:
    first, second = call.at(one), call.at(other)
    edits = partial(changed, call.source, [(first.span, second.text), (second.span, first.text)])
    new = f"{call.source.text(call.node.func)}({second.text}, {first.text}, ...)"  # type: ignore[union-attr]
    yield from evidence.made(edits, "replace", call, "swap", new=new)


def viewed(evidence: Evidence) -> Iterator[int]:
    """How many features, or channels, would fill the view that failed: the product of what it makes of them."""
    crash = evidence.crash
    said = re.search(r"shape '\[([-\d, ]+)\]' is invalid for input of size (\d+)", evidence.message)
    if crash is None or said is None or not crash.before or not argument_places(crash):
        return
    sizes, row = [int(number) for number in said[1].split(",")], crash.before[0][0]
    kept = len(row) - 2  # the places of a map behind its channels, or the steps before the features
    if len(row) < 2 or sizes[0] not in (-1, row[0]):
        return
    of_map = row[2:] == sizes[len(sizes) - kept :]
    whole = prod(sizes[1 : len(sizes) - kept] if of_map else sizes[kept + 1 :])
    if (of_map or row[1:-1] == sizes[1 : kept + 1]) and whole > 0 and whole != row[1 if of_map else -1]:
        yield whole


def shuffled(evidence: Evidence) -> Iterator[int]:
    """The channels that a failed pixel shuffle may have been meant to get: the factor once more, or rounded up."""
    crash = evidence.crash
    factor = crash.layer.value("upscale_factor") if crash is not None and crash.layer is not None else None
    if crash is None or not factor or not crash.before or len(crash.before[0][0]) < 3:
        return
    channels = crash.before[0][0][-3]
    if channels % factor == 0:
        yield channels * factor
    yield -(-channels // factor**2) * factor**2
