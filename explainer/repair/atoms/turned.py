"""The order in which a sequence is gone through: from its other end."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.repair.atoms.common import calls, expressions, number, text
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import called, stored, walked

#: What goes through several sequences at once, or one with its places.
_THROUGH = ("zip", "enumerate", "list", "tuple")
#: What it costs that nothing was added to the sequence one by one, as what is filled on a way down is; that it is what
#: built the layers, or numbers.
_WHOLE, _RANGE = 0.5, 0.9


def reversed_(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`zip(ups, skips)` -> `zip(ups, reversed(skips))`, `skips.pop(0)` -> `skips.pop()`: the last one first, or not."""
    for node in _gone_through(spot):
        turned = _turned(spot, node)
        if turned is not None:
            weight = 0.0 if _filled(spot, node) else _RANGE if isinstance(node, ast.Call) else _WHOLE
            yield Offer("reversed", spot, node, turned, "order", weight)
    for call in calls(spot):
        ends = [number(one) for one in call.args]
        if called(call) == "pop" and isinstance(call.func, ast.Attribute) and ends in ([], [0], [-1]):
            other = "" if ends == [0] else "0"
            yield Offer("reversed", spot, call, f"{text(spot, call.func)}({other})", "order", 0.2)
    yield from _counted(spot)


def _gone_through(spot: Spot) -> Iterator[ast.expr]:
    """The sequences that the loops at a place go through; those of a `zip` each."""
    for node in expressions(spot):
        parent = spot.place.source.parent_of(node)
        if isinstance(parent, (ast.For, ast.comprehension)) and node is parent.iter:
            through = called(node) if isinstance(node, ast.Call) else ""
            yield from node.args if through in _THROUGH else [node]  # type: ignore[attr-defined]
            yield from [node] if through == "enumerate" else []


def _turned(spot: Spot, node: ast.expr) -> str | None:
    """The source of a sequence in the other order; None of what may be none."""
    whole = text(spot, node)
    if isinstance(node, ast.Call) and called(node) == "reversed" and len(node.args) == 1:
        return text(spot, node.args[0])
    if isinstance(node, ast.Subscript) and whole.endswith("[::-1]"):
        return whole.removesuffix("[::-1]")
    if isinstance(node, ast.Call) and called(node) == "enumerate":  # with the numbers that its elements have
        return f"reversed(list({whole}))"
    if isinstance(node, (ast.Name, ast.Attribute)) or (isinstance(node, ast.Call) and called(node) == "range"):
        return f"reversed({whole})"
    return None


def _filled(spot: Spot, node: ast.expr) -> bool:
    """Whether the function adds to a sequence one by one, or the sequence is turned already."""
    function, name = spot.place.source.scope_at(spot.place.line), text(spot, node)
    grown = (one for one in walked(function) if isinstance(one, ast.Call) and called(one) == "append")
    return "reversed" in name or any(text(spot, one.func.value) == name for one in grown)  # type: ignore[attr-defined]


def _counted(spot: Spot) -> Iterator[Offer]:
    """`skips[i]` -> `skips[-i - 1]`, where a loop counts `i` up."""
    turns, around = set(), spot.place.source.parent_of(spot.place.node)
    while around is not None and not isinstance(around, (ast.FunctionDef, ast.ClassDef)):
        counts = isinstance(around, ast.For) and isinstance(around.iter, ast.Call)
        if counts and called(around.iter) in ("range", "enumerate"):  # type: ignore[attr-defined]
            turns |= stored(around.target)  # type: ignore[attr-defined]
        around = spot.place.source.parent_of(around)
    for node in expressions(spot):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name) and node.slice.id in turns:
            yield Offer("reversed", spot, node.slice, f"-{node.slice.id} - 1", "order", 0.4)
