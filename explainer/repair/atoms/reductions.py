"""A dimension summed or averaged away behind a value, where a shape has one too many, or hides one in another."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.edits.place import as_primary
from explainer.repair.atoms.common import calls, expressions, integers, pairs_said, shape_of, text
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import called

#: How many names are tried for how many there are of each.
_NAMES = 3


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


def folded(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`y.view(batch, -1, dim)` -> `y.view(batch, -1, k, dim).sum(2)`: `k` of each, which one dimension has taken in.

    Only where one of the two sizes that do not meet is `k` times the other.
    """
    times = {a // b for a, b in pairs_said(evidence) if b > 1 and a % b == 0} - {0, 1}
    names = [name for name, value in integers(spot).items() if value in times]
    for node in calls(spot) if names else ():
        sizes = [text(spot, one) for one in node.args]
        if called(node) not in ("view", "reshape") or len(sizes) < 2 or not isinstance(node.func, ast.Attribute):
            continue
        for at, name in itertools.product([at for at, one in enumerate(sizes) if one == "-1"], names[:_NAMES]):
            apart = ", ".join([*sizes[: at + 1], name, *sizes[at + 1 :]])
            for further, method in enumerate(("sum", "mean")):
                new = f"{text(spot, node.func)}({apart}).{method}({at + 1})"
                yield Offer("folded", spot, node, new, method, 0.2 * further)
