"""A projection where two widths meet: `nn.Identity()` beside a branch of another width."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.edits.generators.shapes import BROADCAST
from explainer.repair.atoms.common import expressions, integers, text
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import called

_NAMES = {3: "Conv1d", 4: "Conv2d", 5: "Conv3d"}


def projection(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`self.skip = nn.Identity()` -> `nn.Conv2d(cin, cout, 1)`, where the sum has two widths."""
    crash = evidence.crash
    if crash is None or crash.function not in BROADCAST or len(crash.before) < 2:
        return
    one, other = crash.before[0][0], crash.before[1][0]
    for node in expressions(spot):
        if isinstance(node, ast.Call) and called(node) == "Identity" and len(one) == len(other):
            head = text(spot, node.func)[: -len("Identity")]
            for new in (*_between(spot, one, other), *_between(spot, other, one)):
                yield Offer("projection", spot, node, f"{head}{new}", "widths", 0.1)


def _between(spot: Spot, have: list[int], need: list[int]) -> Iterator[str]:
    """Layers that bring one shape to the other, written with the names in scope."""
    rank = len(have)
    at = 1 if rank in _NAMES and have[1] != need[1] else rank - 1
    names = integers(spot)
    reads = [name for name, value in names.items() if value == have[at]] or [str(have[at])]
    gives = [name for name, value in names.items() if value == need[at]] or [str(need[at])]
    if at != 1 or rank not in _NAMES:
        if have[:-1] == need[:-1] and have != need:
            yield f"Linear({reads[0]}, {gives[0]})"
        return
    factors = {a // b for a, b in zip(have[2:], need[2:], strict=True) if b}
    if len(factors) != 1 or min(factors) < 1:
        return
    stride = next(iter(factors))
    named = next((name for name, value in names.items() if value == stride and "stride" in name), str(stride))
    yield f"{_NAMES[rank]}({reads[0]}, {gives[0]}, 1{f', stride={named}' if stride > 1 else ''})"
