"""Candidates for lists that are drawn at random and hold fewer than were asked for, where too few are left to draw."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place, as_operand, bound_above
from explainer.source import called

_RAGGED = ("each element in list of batch should be of equal size", "stack expects each tensor to be equal size")
#: Calls that draw at random, or put in a random order, without putting back.
_DRAWING = ("shuffle", "sample", "permutation", "randperm")


def filled_up(evidence: Evidence) -> Iterator[Candidate]:
    """`unread[:n]` -> `(unread * n)[:n]` of a shuffled list: from its beginning again where it holds fewer than n."""
    if not any(one in evidence.message for one in _RAGGED):
        return
    for source in evidence.sources_seen():
        for node in source.nodes():
            if not isinstance(node, (ast.Subscript, ast.Call)):
                continue
            place = Place(source, node)
            count = _cut_to(place) if isinstance(node, ast.Subscript) else _at_most(place)
            if count is not None:
                drawn = source.text(node.value) if isinstance(node, ast.Subscript) else place.text
                new = f"({drawn} * {as_operand(count)})[:{count}]"
                yield from evidence.replaced(place, new, "replace", "filled-up", new=new, count=count)


def _cut_to(place: Place) -> str | None:
    """How many are taken of a list that was drawn or shuffled: `n` of `unread[:n]`."""
    node: Any = place.node
    part = node.slice
    if not isinstance(part, ast.Slice) or part.upper is None or part.lower is not None or part.step is not None:
        return None
    return place.source.text(part.upper) if _is_drawn(place, node.value) else None


def _is_drawn(place: Place, node: ast.expr) -> bool:
    scope = place.source.scope_at(place.span.line)
    if isinstance(node, ast.Call):
        return called(node) in _DRAWING
    if not isinstance(node, ast.Name) or scope is None:
        return False
    bound = bound_above(scope, node.id, place.span.line)
    made = isinstance(bound.value, ast.Call) and called(bound.value) in _DRAWING if bound is not None else False
    calls = [one for one in ast.walk(scope) if isinstance(one, ast.Call) and called(one) == "shuffle" and one.args]
    return made or any(ast.unparse(one.args[0]) == node.id and one.lineno <= place.span.line for one in calls)


def _at_most(place: Place) -> str | None:
    """How many are asked for, at most: `n` of `sample(pool, min(n, len(pool)))`."""
    node: Any = place.node
    given = [*node.args[1:2], *(word.value for word in node.keywords if word.arg == "k")]
    if called(node) != "sample" or len(given) != 1 or not isinstance(given[0], ast.Call) or called(given[0]) != "min":
        return None
    rest = [one for one in given[0].args if not (isinstance(one, ast.Call) and called(one) == "len")]
    return place.source.text(rest[0]) if len(rest) == 1 and len(given[0].args) == 2 else None
