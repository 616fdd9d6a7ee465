"""Which inputs `vmap` goes along, and which it hands on whole."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.repair.atoms.common import calls, text
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import called

#: Of how many inputs all ways are tried, and what one more that is handed on whole costs, or one before another.
_MOST, _WHOLE, _EARLY = 5, 0.1, 0.1


def mapped(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`vmap(f)` -> `vmap(f, in_dims=(0, None))`: its last inputs are the same for all, or some of them."""
    failing = evidence.frames[-1].place.node if evidence.frames and "vmap" in evidence.message else None
    count = len(failing.args) if isinstance(failing, ast.Call) and not failing.keywords else 0
    for call in calls(spot) if 1 < count <= _MOST else ():
        if called(call) != "vmap" or not call.args:
            continue
        given = next((one.value for one in call.keywords if one.arg == "in_dims"), None)
        for ways in itertools.product(("0", "None"), repeat=count):
            dims = f"({', '.join(ways)})"
            if "0" not in ways or "None" not in ways:
                continue
            early = sum(one == "None" for one, other in itertools.pairwise(ways) if other == "0")
            weight = _WHOLE * ways.count("None") + _EARLY * early
            if given is not None:
                yield Offer("mapped", spot, given, dims, "whole", weight)
            elif len(call.args) == 1:
                yield Offer("mapped", spot, call, f"{text(spot, call)[:-1]}, in_dims={dims})", "whole", weight)
