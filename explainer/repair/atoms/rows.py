"""Rows of sizes, of which another is meant: the widths of this model, not of that one."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Sequence

from explainer.edits.evidence import Evidence
from explainer.repair.atoms.common import expressions, text, wanted
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import Source, stored

#: How many rows are offered for one.
_MOST = 6


def row(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`zip(mine, WIDTHS)` -> `zip(mine, theirs.widths)`: as many, one of them in question.

    `for tag in TAGS` -> `for tag in OWN_TAGS`: a list of the file's, where both lengths are.
    """
    sizes = wanted(evidence)
    for node in expressions(spot):
        yield from _listed(spot, node, evidence)
        own = _entries(spot, text(spot, node)) if isinstance(node, (ast.Name, ast.Attribute)) else []
        others = [one for one in _rows(spot) if own and _suits(own, _entries(spot, one), sizes)]
        beside = _beside(spot, node)
        for at, other in enumerate(one for one in others[:_MOST] if one not in beside):
            yield Offer("row", spot, node, other, "scope", 0.1 * at)


def _listed(spot: Spot, node: ast.expr, evidence: Evidence) -> Iterator[Offer]:
    """Another list at the top of the file in the place of one, where the message names both lengths."""
    source = spot.place.source
    if not isinstance(node, ast.Name) or node.id not in _at_top(source):
        return
    places = [one.place for one in evidence.steps if one.place is not None and one.place.source is source]
    scopes = [evidence.scope_of(place) for place in places]
    found = {name[4:-1]: size for scope in scopes for name, size in scope.items() if name.startswith("len(")}
    for other in sorted(_at_top(source) & found.keys()) if found.get(node.id) in evidence.said else ():
        if found[other] != found[node.id] and found[other] in evidence.said:
            yield Offer("row", spot, node, other, "list")


@functools.lru_cache(64)
def _at_top(source: Source) -> frozenset[str]:
    """The names that the statements of a file itself bind."""
    return frozenset(name for one in (source.tree.body if source.tree is not None else ()) for name in stored(one))


def _suits(own: Sequence[int], other: Sequence[int], sizes: set[int]) -> bool:
    """Whether a row has as many sizes, and one that is in question in the place of another that is."""
    pairs = [pair for pair in zip(own, other, strict=False) if pair[0] != pair[1]]
    return len(own) == len(other) and any(one in sizes and new in sizes for one, new in pairs)


def _rows(spot: Spot) -> list[str]:
    return [one[:-3] for one in spot.scope if one.endswith("[0]")]


def _entries(spot: Spot, name: str) -> list[int]:
    found: list[int] = []
    while isinstance(value := spot.scope.get(f"{name}[{len(found)}]"), int):
        found.append(value)
    return found


def _beside(spot: Spot, node: ast.AST) -> list[str]:
    """What the same call is given beside a row: it is not meant to get one twice."""
    parent = spot.place.source.parent_of(node)
    return [text(spot, one) for one in parent.args if one is not node] if isinstance(parent, ast.Call) else []
