"""Draws of places among what a program keeps: where a window may begin, so that it ends before the end."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from explainer.edits.calls import asks_how_much
from explainer.edits.evidence import Evidence
from explainer.repair.atoms.common import calls, integer, integers, text
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import called, of_self, walked

#: What draws whole numbers, and what a message says where one of them was too large for what it indexes.
_DRAWING = ("randint", "randrange", "integers")
_INDEXING = ("index", "__getitem__", "gather", "take", "index_select", "select")
#: How many numbers are taken off an end.
_MOST = 4


def drawn(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`randint(0, self.size, n)` -> `randint(0, self.size - self.steps, n)`: the last place from which all fits."""
    for node in calls(spot):
        end = end_of(node)
        value = integer(spot, end) if end is not None and chosen(end, evidence) else None
        for at, name in enumerate(_read(spot, node, value) if value is not None else ()):
            for more, form in enumerate(("{} - {}", "{} - {} + 1")):
                yield Offer("drawn", spot, end, form.format(text(spot, end), name), "end", 0.1 * at + 0.05 * more)  # type: ignore[arg-type]


def end_of(node: ast.AST) -> ast.expr | None:
    """Up to where a call draws: `len(x)` of `randint(0, len(x), (8,))`; None of anything else."""
    if not isinstance(node, ast.Call) or called(node) not in _DRAWING:
        return None
    ends = [one for one in node.args if not isinstance(one, (ast.Tuple, ast.List))][:2]
    return ends[-1] if ends else None


def chosen(end: ast.expr, evidence: Evidence) -> bool:
    """Whether what is drawn are places among what the program holds, and no data: it asks how much there is."""
    kept = any(map(of_self, walked(end)))
    indexes = evidence.crash is not None and evidence.crash.function in _INDEXING
    return asks_how_much(end) or (kept and indexes)


def _read(spot: Spot, draw: ast.AST, most: int) -> Sequence[str]:
    """The numbers below an end that the function reads elsewhere than in the draw, those that it reads last first."""
    function = spot.place.source.function_at(spot.place.line)
    inner = {id(one) for one in walked(draw)}
    read = [one for one in walked(function) if id(one) not in inner] if function is not None else []
    lines = {ast.unparse(one): one.lineno for one in read if isinstance(one, (ast.Name, ast.Attribute))}
    found = [name for name, value in integers(spot).items() if name in lines and 0 < value < most]
    return sorted(found, key=lambda name: -lines[name])[:_MOST]
