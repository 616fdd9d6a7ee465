"""A value kept within the bounds of what it indexes: a continuous one, before it is made a whole number."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.edits.place import as_primary
from explainer.repair.atoms.common import integers
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot

_BEYOND = re.compile(r"out of (?:bounds|range).*?(?:with|of) size (\d+)", re.DOTALL)


def bound(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`(v - low) / width` -> `((v - low) / width).clamp(0, bins - 1)`, where it is an index that is out of bounds.

    Ids are whole numbers from the start: one that is too large names something else, and stays what it is.
    """
    said, step = _BEYOND.search(evidence.message), spot.step
    if said is None or step is None or spot.role != "slice" or not step.dtype.startswith("float"):
        return
    if isinstance(spot.place.node, ast.expr):
        size = int(said[1])
        ends = [f"{name} - 1" for name, value in integers(spot).items() if value == size] or [str(size - 1)]
        for at, end in enumerate(ends[:3]):
            text = f"{as_primary(spot.place.at(spot.place.node))}.clamp(0, {end})"
            yield Offer("bound", spot, spot.place.node, text, "bound", 0.1 * at)
