"""What one branch of a function does to its value at last, and another leaves out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.dimensions import MODULES
from explainer.edits.evidence import Evidence
from explainer.edits.place import as_primary
from explainer.repair.atoms.common import text
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import called, walked


def branched(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`return pad(x)` -> `return pad(x).mean(0)`, as the function's other `return` ends, or its other branch."""
    own = spot.place.node
    if not isinstance(own, ast.expr):
        return
    mine = {name for name, _ in _steps(spot, own)}
    for other in _branches(spot, own):
        name, last = next(_steps(spot, other), ("", ""))
        if name and name not in mine:
            yield Offer("branched", spot, own, as_primary(spot.place.at(own)) + last, "branch")


def _branches(spot: Spot, own: ast.expr) -> list[ast.expr]:
    """What is returned, or bound to the same name, in other branches of the function."""
    source = spot.place.source
    function, statement = source.function_at(own.lineno), source.parent_of(own)
    if function is None:
        return []
    if isinstance(statement, ast.Return):
        others = [one for one in walked(function) if isinstance(one, ast.Return)]
    elif isinstance(statement, ast.Assign):
        target, above = source.text(statement.targets[0]), source.parent_of(statement)
        beside = [*above.body, *above.orelse] if isinstance(above, ast.If) else []
        others = [one for one in beside if isinstance(one, ast.Assign) and source.text(one.targets[0]) == target]  # type: ignore[misc]
    else:
        return []
    return [one.value for one in others if one is not statement and one.value is not None]


def _steps(spot: Spot, value: ast.expr) -> Iterator[tuple[str, str]]:
    """The methods that a value has been through, the last first, by name, each with how it is written: `.mean(0)`."""
    node = value
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner = node.func.value
        if isinstance(owner, ast.Name) and owner.id in (*MODULES, "self"):
            return
        yield called(node), text(spot, node)[len(text(spot, owner)) :]
        node = owner
