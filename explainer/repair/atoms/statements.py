"""Whole statements: one left out, two neighbours exchanged."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import loaded, stored


def statement(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`x = x.mean(1)` left out, where `x` is there without it; a statement exchanged with the next one."""
    if spot.role not in ("crash", "slice", "bound", "caller"):
        return
    try:
        node = spot.place.statement().node
    except ValueError:
        return
    if isinstance(node, (ast.Assign, ast.AugAssign)) and stored(node) and stored(node) <= loaded(node) | _targets(node):
        own = stored(node) <= loaded(node) or isinstance(node, ast.AugAssign)
        if own:
            yield Offer("statement", spot, node, "pass", "left out", 1.3)


def _targets(node: ast.AST) -> set[str]:
    return stored(node) if isinstance(node, ast.AugAssign) else set()
