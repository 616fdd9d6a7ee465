"""Candidates for counts: of the rows of a tensor where another is indexed, of things one of which is left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.generators.sites import trees_hit
from explainer.edits.place import Place, fitted
from explainer.replay.recorders.taint import literals, parts, value_of, value_with


def one_more(evidence: Evidence) -> Iterator[Candidate]:
    """`Pairs(len(fields))` -> `Pairs(len(fields) + 1)` where a layer built for what follows from it then fits."""
    if "selected index k" in evidence.message:  # too few classes for that many of the best are no wrong count of them
        return
    for tree, size in trees_hit(evidence):
        for leaf in {tuple(one[1]): one for one in literals(tree) if one[0] == "len"}.values():
            more, place = _missing(tree, leaf, size), evidence.place(leaf[1])
            if place is not None and more:
                yield from _counted_more(evidence, place, more)


def one_too_many(evidence: Evidence) -> Iterator[Candidate]:
    """`nn.Linear(width + 1, 8)` -> `nn.Linear(width, 8)` where a layer built without the term then fits."""
    for tree, size in trees_hit(evidence):
        for part in parts(tree):
            place = evidence.place(part[4]) if part[1] in ("+", "-") and part[3][0] == "lit" else None
            fits = value_with(tree, part, int(part[2][-1])) == size
            if place is not None and fits and isinstance(place.node, ast.BinOp):
                rest = place.source.text(place.node.left)
                yield from evidence.replaced(place, rest, "replace", "count-as", new=rest)


def _counted_more(evidence: Evidence, place: Place, more: int) -> Iterator[Candidate]:
    new = f"{place.text} {'+' if more > 0 else '-'} {abs(more)}"
    kind = "one-more" if more == 1 else "count-as"
    yield from evidence.replaced(place, fitted(place, new), "replace", kind, new=new)


def _missing(tree: list, leaf: list, wanted: int) -> int:
    """By how many more a count gives the wanted size, 0 where by none."""
    return next((more for more in (1, -1, 2) if value_of(tree, {tuple(leaf[1]): leaf[-1] + more}) == wanted), 0)
