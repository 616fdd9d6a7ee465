"""Fixed values that are no numbers: dtypes, truth values, modes in quotes, comparisons, a mask's sense."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.repair.atoms.common import expressions, text
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot

_DTYPES = ("long", "float32", "bool", "float64", "int64", "float", "half", "bfloat16", "int32", "uint8", "cfloat")
_KEPT = ("long", "float32", "bool")
_MODES = (("mean", "none", "sum"), ("same", "valid"), ("bilinear", "nearest"), ("ij", "xy"), ("relu", "gelu"))


def value(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`dtype=torch.float` -> `dtype=torch.long`, `True` -> `False`, `"mean"` -> `"none"`."""
    for node in expressions(spot):
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield Offer("value", spot, node, str(not node.value), "flag", 1.0)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            for row in _MODES:
                others = [one for one in row if one != node.value] if node.value in row else []
                yield from (Offer("value", spot, node, f'"{one}"', "mode", 1.2) for one in others)
        elif isinstance(node, ast.Attribute) and node.attr in _DTYPES and text(spot, node.value) == "torch":
            for one in _KEPT:
                if one != node.attr and {one, node.attr} not in ({"float", "float32"}, {"long", "int64"}):
                    yield Offer("value", spot, node, f"torch.{one}", "dtype", 0.6)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Invert, ast.Not)):
            yield Offer("value", spot, node, text(spot, node.operand), "sense", 1.4)
