"""What is done with an object elsewhere before the same function gets it, and is not done here."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from explainer.edits.evidence import Evidence
from explainer.edits.place import Place
from explainer.repair.atoms.common import calls, row_of
from explainer.repair.offer import Offer
from explainer.repair.siblings import renamed
from explainer.repair.spots import Spot, statement_around
from explainer.source import Source, called, loaded

#: How many statements above a call are looked at, and how many calls of one function.
_ABOVE, _CALLS = 4, 4


def likewise(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`opt = build(net)` -> `freeze(net); opt = build(net)`, as it stands where another `build` works."""
    statement = statement_around(spot.place)
    if not isinstance(statement, (ast.Assign, ast.Expr)):
        return
    for call in calls(spot):
        others = evidence.calls_of(called(call)) if evidence.defined(called(call)) else []
        for other in others[:_CALLS]:
            if other.node is not call and isinstance(other.node, ast.Call) and other.source is spot.place.source:
                yield from _done(spot, statement, call, other)


def _done(spot: Spot, statement: ast.stmt, call: ast.Call, other: Place) -> Iterator[Offer]:
    """The statements above another call of a function that do something with what it is given."""
    names = _given_for(call, other.node)  # type: ignore[arg-type]
    own = {
        called(one)
        for above in _above(spot.place.source, statement)
        for one in ast.walk(above)
        if isinstance(one, ast.Call)
    }
    for above in _above(other.source, statement_around(other)):
        if not isinstance(above, ast.Expr) or not isinstance(above.value, ast.Call) or called(above.value) in own:
            continue
        if loaded(above) & names.keys() and _there(spot.place.source, loaded(above) - names.keys()):
            text = renamed(other.source.text(above), names)
            lines = f"{text}\n{' ' * statement.col_offset}{spot.place.source.text(statement)}"
            yield Offer("likewise", spot, row_of([statement]), lines, "elsewhere", 0.0)


def _given_for(call: ast.Call, other: ast.Call) -> Mapping[str, str]:
    """By the names that another call of a function is given, those that a call is given in their places."""
    pairs = zip(other.args, call.args, strict=False)
    return {one.id: mine.id for one, mine in pairs if isinstance(one, ast.Name) and isinstance(mine, ast.Name)}


def _above(source: Source, statement: ast.AST) -> list[ast.stmt]:
    """The statements right above one in its block, the nearest first."""
    block = source.block_of(statement) if isinstance(statement, ast.stmt) else []
    at = next((at for at, one in enumerate(block) if one is statement), 0)
    return block[max(at - _ABOVE, 0) : at][::-1]


def _there(source: Source, names: set[str]) -> bool:
    """Whether names are a file's own functions and classes, or what it imports."""
    top = source.tree.body if source.tree is not None else []
    known = {one.name for one in top if isinstance(one, (ast.FunctionDef, ast.ClassDef))}
    known |= {
        alias.asname or alias.name
        for one in top
        if isinstance(one, (ast.Import, ast.ImportFrom))
        for alias in one.names
    }
    return names <= known
