"""A dimension summed or averaged away behind a value, where a shape has one too many."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.edits.place import as_primary
from explainer.repair.atoms.common import expressions, shape_of
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot


def reduction(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`torch.stack(parts)` -> `torch.stack(parts).sum(0)`: the mean or the sum over a dimension."""
    if spot.role not in ("crash", "slice", "bound", "caller"):
        return
    for node in expressions(spot):
        if not isinstance(node, (ast.Name, ast.Call, ast.BinOp)):
            continue
        shape = shape_of(spot, node, evidence) if node is not spot.place.node else spot.shape
        if not shape or not 1 < len(shape) < 6:
            continue
        primary = as_primary(spot.place.at(node))
        for at in (-1, 0, 1, 2)[: len(shape)]:
            for further, method in enumerate(("sum", "mean")):
                weight = 0.2 * further + 0.5 * isinstance(node, ast.Name)
                yield Offer("reduction", spot, node, f"{primary}.{method}({at})", method, weight)
