"""How likely an offer is the repair before it is tried: a sum of counted parts, the lowest first."""

from __future__ import annotations

from collections.abc import Mapping

from explainer.repair.offer import Offer

#: What each kind of edit costs, each role of its place, and each step that it lies behind the crash.
ATOM: Mapping[str, float] = {
    "pattern": 0.0,
    "projection": 0.2,
    "dimension": 0.2,
    "swap": 0.4,
    "slice": 0.5,
    "sizes": 0.5,
    "layout": 0.9,
    "unwrap": 0.6,
    "size": 0.7,
    "key": 0.7,
    "keyword": 0.8,
    "index": 0.8,
    "element": 0.9,
    "call": 0.9,
    "name": 1.3,
    "value": 1.0,
    "operator": 1.1,
    "literal": 1.2,
    "drop": 1.4,
    "statement": 2.2,
}
ROLE: Mapping[str, float] = {"crash": 0.0, "slice": 0.5, "bound": 0.6, "caller": 0.6, "built": 0.5, "given": 1.0}
_STEP = 0.12
_FAR = 1.2


def cost(offer: Offer) -> float:
    """What speaks against an offer: its kind, its place, its filler."""
    return ATOM[offer.atom] + ROLE[offer.spot.role] + min(_STEP * offer.spot.distance, _FAR) + offer.weight
