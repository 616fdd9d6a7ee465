"""The graph behind a value: cut where the value is kept, a copy where it is changed in place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.edits.place import as_primary
from explainer.repair.atoms.common import expressions
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import called

_KEEPING = ("append", "add", "extend", "put", "update", "setdefault", "appendleft")
_PLAIN = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.BinOp)


def detach(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`self.target = gram(x)` -> `gram(x).detach()`: a value that outlives its step, without its graph."""
    yield from _behind(spot, "detach")


def clone(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`rows.append(h)` -> `rows.append(h.clone())`: a copy of what is changed in place later."""
    yield from _behind(spot, "clone")


def _behind(spot: Spot, method: str) -> Iterator[Offer]:
    for node in expressions(spot) if spot.role not in ("built", "given") else ():
        weight = _kept(spot, node) if not _makes_an_object(node) else None
        if weight is not None and isinstance(node, _PLAIN) and not _has(node, method):
            yield Offer(method, spot, node, f"{as_primary(spot.place.at(node))}.{method}()", method, weight)


def _kept(spot: Spot, node: ast.expr) -> float | None:
    """What speaks against a value's being kept: nothing where it is given to an object, something for a plain name."""
    parent = spot.place.source.parent_of(node)
    if isinstance(parent, ast.Assign) and parent.value is node:
        return 0.0 if any(isinstance(one, (ast.Attribute, ast.Subscript)) for one in parent.targets) else 0.5
    if isinstance(parent, ast.Call) and node in parent.args:
        function = parent.func
        return 0.1 if isinstance(function, ast.Attribute) and function.attr in _KEEPING else 0.7
    if isinstance(parent, ast.Return):
        return 0.6
    return None


def _makes_an_object(node: ast.expr) -> bool:
    """Whether a class is called: no tensor comes of that."""
    return isinstance(node, ast.Call) and called(node)[:1].isupper()


def _has(node: ast.expr, method: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method
