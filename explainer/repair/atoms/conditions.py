"""What decides between two values: a comparison, or a test, turned around."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.edits.place import as_primary
from explainer.repair.atoms.common import expressions, text
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot

_OTHER = {ast.Eq: ("!=",), ast.NotEq: ("==",), ast.Is: ("is not",), ast.IsNot: ("is",), ast.In: ("not in",),
          ast.NotIn: ("in",), ast.Lt: ("<=", ">="), ast.LtE: ("<", ">"), ast.Gt: (">=", "<="),
          ast.GtE: (">", "<")}  # fmt: skip
_SAME = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
_DECIDED = (ast.IfExp, ast.If, ast.While)


def condition(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`Conv2d(a, b, 1) if a == b else Identity()` -> `if a != b`: the other way round, or with the bound itself."""
    for node in expressions(spot):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = text(spot, node.left), text(spot, node.comparators[0])
            if isinstance(spot.place.source.parent_of(node), ast.BoolOp) and type(node.ops[0]) in _SAME:
                continue  # one of several reasons: that it holds in nearly every case but this is no repair
            for at, sign in enumerate(_OTHER[type(node.ops[0])]):
                yield Offer("condition", spot, node, f"{left} {sign} {right}", "sign", 0.3 * at)
        elif _decides(spot, node) and not isinstance(node, (ast.Compare, ast.BoolOp, ast.Constant)):
            yield Offer("condition", spot, node, _denied(spot, node), "sense", 0.0)


def _denied(spot: Spot, node: ast.expr) -> str:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return text(spot, node.operand)
    return f"not {as_primary(spot.place.at(node))}"


def _decides(spot: Spot, node: ast.expr) -> bool:
    """Whether an expression is what a condition tests."""
    parent = spot.place.source.parent_of(node)
    tests = parent.ifs if isinstance(parent, ast.comprehension) else [getattr(parent, "test", None)]
    return node in tests and isinstance(parent, (*_DECIDED, ast.comprehension))
