"""Fixed values that are no numbers: dtypes, truth values, modes in quotes, comparisons, a mask's sense."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.repair.atoms.common import expressions, text
from explainer.repair.atoms.signatures import said
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot

_DTYPES = ("long", "float32", "bool", "float64", "int64", "float", "half", "bfloat16", "int32", "uint8", "cfloat")
_KEPT = {"torch": ("long", "float32", "bool"), "np": ("int64", "float32"), "numpy": ("int64", "float32")}
_MODES = (("mean", "none", "sum"), ("same", "valid"), ("bilinear", "nearest"), ("ij", "xy"), ("relu", "gelu"))


def _parameter(spot: Spot, node: ast.AST) -> str:
    """The name of the parameter, or the name, that an expression is given for."""
    parent = spot.place.source.parent_of(node)
    target = parent.targets[0] if isinstance(parent, ast.Assign) else None
    return str(getattr(parent, "arg", None) or getattr(target, "attr", None) or getattr(target, "id", ""))


def _switch(name: str, evidence: Evidence) -> bool:
    """Whether a name switches a step of the program on: without the step nothing fails, and nothing is repaired."""
    for source in evidence.sources_seen():
        for node in source.nodes():
            test = node.test if isinstance(node, ast.If) and not node.orelse else None
            if name and name in (getattr(test, "id", None), getattr(test, "attr", None)):
                return True
    return False


def value(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`dtype=torch.float` -> `dtype=torch.long`, `True` -> `False`, `"mean"` -> `"none"`."""
    for node in expressions(spot):
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            if node.value and _switch(_parameter(spot, node), evidence):
                continue
            of_torch = isinstance(spot.place.source.parent_of(node), ast.keyword) and spot.role in ("slice", "crash")
            of_torch = of_torch or any(node is one.node for one in evidence.settings.get("**", ()))  # unpacked for it
            yield Offer("value", spot, node, str(not node.value), "flag", 0.3 if of_torch else 1.0)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            rows = [*(row for row in _MODES if node.value in row), said(_parameter(spot, node), evidence)]
            for other in dict.fromkeys(one for row in rows for one in row if one != node.value):
                yield Offer("value", spot, node, f'"{other}"', "mode", 1.2)
        elif isinstance(node, ast.Attribute) and node.attr in _DTYPES and text(spot, node.value) in _KEPT:
            owner = text(spot, node.value)
            for one in _KEPT[owner]:
                if one != node.attr and {one, node.attr} not in ({"float", "float32"}, {"long", "int64"}):
                    yield Offer("value", spot, node, f"{owner}.{one}", "dtype", 0.6)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Invert, ast.Not)):
            yield Offer("value", spot, node, text(spot, node.operand), "sense", 1.4)
