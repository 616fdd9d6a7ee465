"""One part of what a call gives: the values or the indices of a maximum, the output of a recurrent layer."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.repair.atoms.common import expressions, text
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot

_PARTS = re.compile(
    r"tuple|return_types|has no attribute|must be Tensor|not (?:a )?[Tt]ensor|unsupported operand|list|BaseModelOutput"
)


def index(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`self.rnn(x)` -> `self.rnn(x)[0]`, where a tuple came and a tensor was to."""
    if not _PARTS.search(evidence.message):
        return
    for node in expressions(spot):
        if isinstance(node, (ast.Call, ast.Name, ast.Attribute)) and not _called(spot, node):
            for at, part in enumerate(("[0]", "[1]", "[-1]")):
                yield Offer("index", spot, node, f"{text(spot, node)}{part}", part, 0.5 + 0.4 * at)


def _called(spot: Spot, node: ast.AST) -> bool:
    parent = spot.place.source.parent_of(node)
    return (isinstance(parent, ast.Call) and parent.func is node) or isinstance(parent, ast.Attribute)
