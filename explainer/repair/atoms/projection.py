"""A projection where two widths meet: in the place of `nn.Identity()`, or before the layer that reads the other one."""

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


def widening(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`Sequential(norm, GELU(), Linear(4 * n, n))` -> with `Linear(n, 4 * n)` before `GELU()`: what it leads back from.

    The layer that failed was given what it makes: the one that makes what it reads is missing.
    """
    node, row = spot.place.node, spot.place.source.parent_of(spot.place.node)
    if spot.role != "built" or spot.layer is None or not isinstance(node, ast.Call) or len(node.args) < 2:
        return
    beside: list[ast.expr] = getattr(row, "args", None) or getattr(row, "elts", None) or []
    reads, gives = [*map(spot.layer.value, spot.layer.parameters[:2]), None, None][:2]
    met = {size for shape, _ in (evidence.crash.before if evidence.crash else ()) for size in shape}
    if node not in beside or reads is None or gives is None or reads == gives or gives not in met:
        return
    before = [one for one in beside[: beside.index(node)] if isinstance(one, ast.Call) and not one.args]
    one, other = (text(spot, each) for each in node.args[:2])
    made = text(spot, node).replace(one, "\0", 1).replace(other, one, 1).replace("\0", other, 1)
    at = before[0] if before else node
    yield Offer("widening", spot, at, f"{made}, {text(spot, at)}", "mirrored", 0.0)


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
