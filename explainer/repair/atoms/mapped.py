"""How inputs are mapped: which of them `vmap` goes along, and class numbers to rows of a table."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.repair.atoms.common import calls, expressions, integers, text
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import called

_JOINS = ("cat", "concat")
_FUNCTIONAL = "import torch.nn.functional as F"
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


def encoded(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`cat([x, y], 1)` -> `cat([x, F.one_hot(y, classes).float()], 1)`: class numbers beside rows of features."""
    crash = evidence.crash
    beside = [shape for shape, dtype in crash.before if len(shape) == 2 and "float" in dtype] if crash else []
    if not beside or crash is None or crash.function not in _JOINS or spot.role not in ("crash", "caller"):
        return
    rows = beside[0][0]
    for node in expressions(spot):
        known = spot.scope.get(text(spot, node)) if isinstance(node, (ast.Name, ast.Attribute)) else None
        if isinstance(known, list) and known[1] == "int64" and known[0] in ([rows], [rows, 1]):
            name = text(spot, node) + ".squeeze(1)" * (len(known[0]) - 1)
            for at, count in enumerate(one for one, value in integers(spot).items() if value > 1):
                new = f"F.one_hot({name}, {count}).float()"
                yield Offer("encoded", spot, node, new, "one-hot", 0.05 * at, imports=(_FUNCTIONAL,))
