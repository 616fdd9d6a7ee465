"""A cut that leaves all there is: the dimension that it was meant for is another one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.repair.atoms.common import expressions, integer, shape_of, text
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot


def recut(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`wave[:n]` -> `wave[:, :n]`, where fewer than n entries came out, and another dimension has more."""
    for node in expressions(spot):
        most = _most(spot, node.slice) if isinstance(node, ast.Subscript) else None
        left = (spot.shape if node is spot.place.node else None) or shape_of(spot, node, evidence)
        if most is None or not left or left[0] >= most:
            continue
        value, cut = text(spot, node.value), spot.place.source.text(node.slice)  # type: ignore[attr-defined]
        for at, size in enumerate(left):
            if size > most:
                yield Offer("recut", spot, node, f"{value}[{':, ' * at}{cut}]", "other dimension", 0.1 * at)


def _most(spot: Spot, part: ast.expr) -> int | None:
    """How many entries `:n` or `-n:` leaves at most; None for any other subscript."""
    if not isinstance(part, ast.Slice) or part.step is not None or (part.lower is None) == (part.upper is None):
        return None
    bound = integer(spot, part.upper or part.lower)  # type: ignore[arg-type]
    if bound is None or (bound > 0) != (part.lower is None):
        return None
    return abs(bound)
