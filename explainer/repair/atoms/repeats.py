"""Rows that go with several of another's: the labels of two views of each image, of each of several guesses."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.edits.place import as_primary
from explainer.repair.atoms.common import calls, shape_of
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import called, loaded, stored, walked

#: How many times as many rows there may be.
_TIMES = range(2, 9)
#: What puts parts behind each other, so that the first rows are all of the first part; what has each row's parts
#: behind each other.
_BY_PART = ("cat", "concat", "concatenate", "vstack", "repeat", "tile", "chunk")
_BY_ROW = ("repeat_interleave", "flatten")


def repeated(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`loss(features, labels)` -> `loss(features, labels.repeat(2))`, where there are twice as many features."""
    said = set(evidence.said)
    for node in calls(spot):
        given = [
            (one, shape_of(spot, one, evidence)) for one in node.args if isinstance(one, (ast.Name, ast.Attribute))
        ]
        for (one, shape), (larger, other) in itertools.permutations(given, 2):
            times = other[0] // shape[0] if shape and other and shape[0] and other[0] % shape[0] == 0 else 0
            if shape and other and times in _TIMES and {shape[0], other[0]} <= said:
                yield from _offers(spot, one, times, len(shape), _makers(spot, larger))


def _offers(spot: Spot, node: ast.expr, times: int, rank: int, makers: set[str]) -> Iterator[Offer]:
    """The rows again in the order in which the program has made the others; none where that is not known."""
    own = as_primary(spot.place.at(node))
    sizes = ", ".join([str(times), *["1"] * (rank - 1)])
    by_part, by_row = not makers.isdisjoint(_BY_PART), not makers.isdisjoint(_BY_ROW)
    if by_part != by_row:
        form = f"{own}.repeat({sizes})" if by_part else f"{own}.repeat_interleave({times}, dim=0)"
        yield Offer("repeated", spot, node, form, "rows")


def _makers(spot: Spot, node: ast.expr) -> set[str]:
    """What is called on the way from the values of a function's names to one of them."""
    function = spot.place.source.scope_at(node.lineno)
    made = [one for one in walked(function) if isinstance(one, ast.Assign) and one.lineno < node.lineno]
    names, found = loaded(node), set[str]()
    for one in sorted(made, key=lambda statement: -statement.lineno):
        if stored(one) & names:
            names |= loaded(one.value)
            found |= {called(inner) for inner in walked(one.value) if isinstance(inner, ast.Call)}
    return found
