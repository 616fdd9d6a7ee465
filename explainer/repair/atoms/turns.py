"""What a loop has for each of its turns, and one call in it does not take: the same number stands there each time."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.repair.atoms.common import calls, expressions, number
from explainer.repair.atoms.signatures import lacking
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import called, loaded, stored, walked, with_argument

_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)


def stepped(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`Conv2d(c, c, 3, 2)` -> `Conv2d(c, c, 3, strides[i])`, in a loop over `range(len(strides))`; an unread name."""
    source = spot.place.source
    for node in expressions(spot):
        around = source.parent_of(node)
        if number(node) is None or not isinstance(around, (ast.Call, ast.keyword, ast.Tuple)):
            continue
        taken = loaded(around)
        for text, owner in _of_turn(spot, node):
            if owner not in taken:
                yield Offer("stepped", spot, node, text, "turn")


def times(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`halved(n)` -> `halved(n, layers=len(self.convs))`: as often as who calls it loops, where it does it once."""
    for node in calls(spot):
        caller = spot.place.source.function_at(node.lineno)
        gone = [one.iter for one in walked(caller) if isinstance(one, ast.For)] if caller is not None else []
        loops = [one for place in evidence.defined(called(node)) for one in walked(place.node)
                 if isinstance(one, ast.For)] if gone else []  # fmt: skip
        for name in lacking(node, evidence) if loops else ():
            for one in gone if any(ast.unparse(each.iter) == f"range({name})" for each in loops) else ():
                if isinstance(one, (ast.Name, ast.Attribute)) and one.lineno < node.lineno:
                    value = f"{name}=len({spot.place.source.text(one)})"
                    yield Offer("times", spot, node, with_argument(spot.place.source, node, value), "loop")


def _of_turn(spot: Spot, node: ast.expr) -> Iterator[tuple[str, str]]:
    """What the loops around a place have for each turn, with the name that it is read by."""
    loop: ast.AST | None = node
    while loop is not None and not isinstance(loop, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        rows = loop.generators if isinstance(loop, _COMPREHENSIONS) else [loop] if isinstance(loop, ast.For) else []
        for row in rows:
            read = loaded(row.iter).union(*(loaded(one) for one in _body(loop)))
            yield from ((name, name) for name in _unread(row, read))
            yield from ((f"{one}[{at}]", one) for one, at in _indexed(row))
        loop = spot.place.source.parent_of(loop)


def _unread(row: ast.For | ast.comprehension, read: set[str]) -> list[str]:
    """The parts of what a loop goes over that are not read beside one that is; a count of its turns is none."""
    counts = isinstance(row.iter, ast.Call) and called(row.iter) in ("enumerate", "range")
    parts = stored(row.target) if isinstance(row.target, ast.Tuple) and not counts else set()
    return sorted(name for name in parts - read if name != "_") if parts & read else []


def _body(loop: ast.AST) -> list[ast.AST]:
    if isinstance(loop, ast.For):
        return [*loop.body]
    return [loop.key, loop.value] if isinstance(loop, ast.DictComp) else [loop.elt]  # type: ignore[attr-defined]


def _indexed(row: ast.For | ast.comprehension) -> Iterator[tuple[str, str]]:
    """The lists that are counted by a loop, with the number of its turn: `for i in range(len(strides))`."""
    at = row.target if isinstance(row.target, ast.Name) else None
    counted = [one for one in walked(row.iter) if isinstance(one, ast.Call) and called(one) == "len" and one.args]
    if at is not None and any(isinstance(one, ast.Call) and called(one) == "range" for one in walked(row.iter)):
        yield from ((ast.unparse(one.args[0]), at.id) for one in counted if isinstance(one.args[0], ast.Name))
