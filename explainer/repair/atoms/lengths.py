"""Lengths of sequences that layers have made shorter since."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.edits.generators.slices import Operand, operands
from explainer.edits.place import as_primary
from explainer.repair.atoms.common import expressions, is_value, shape_of
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot

#: Of how many steps layers leave one.
_FACTORS = range(2, 17)


def shortened(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`return x, lengths` -> `return x, (lengths + 3) // 4`: the greatest length is then that of what they count."""
    for lengths, factor, up in _factors(evidence):
        for node in expressions(spot):
            plain = isinstance(node, (ast.Name, ast.Attribute)) and is_value(spot, node)
            if plain and shape_of(spot, node, evidence) == lengths.shape:
                text = as_primary(spot.place.at(node))
                new = f"({text} + {factor - 1}) // {factor}" if up else f"{text} // {factor}"
                yield Offer("shortened", spot, node, new, "up" if up else "down")


def _factors(evidence: Evidence) -> Iterator[tuple[Operand, int, bool]]:
    """The failing call's whole numbers, that are so many times a size of another operand."""
    every, crash = operands(evidence), evidence.crash
    for lengths, extent in zip(every, crash.extents if crash is not None else (), strict=False):
        others = {size for one in every if one is not lengths for size in one.shape}
        sizes = others & set(evidence.said) or others
        if extent is None or len(lengths.shape) != 1 or extent[1] in sizes or "int" not in lengths.dtype:
            continue
        for factor in _FACTORS:
            for up, size in ((True, -(-extent[1] // factor)), (False, extent[1] // factor)):
                if size in sizes and size > 1 and (up or extent[1] % factor):
                    yield lengths, factor, up
