"""A change of layout put behind a tensor: transpose, permute, unsqueeze, squeeze, flatten, an index with None."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.edits.generators.shapes import BROADCAST, fits
from explainer.edits.generators.slices import operands
from explainer.edits.place import as_primary
from explainer.repair.atoms.common import expressions, shape_of
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot

_MOST = 4


def layout(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`s` -> `s[:, :, None, None]`, `w` -> `w.t()`: what fits the failing call first, where that can be told."""
    if spot.role in ("built", "given"):
        return
    for node in expressions(spot):
        if not isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.BinOp, ast.Compare)):
            continue
        if _only_written(spot, node):
            continue
        shape = (spot.shape if node is spot.place.node else None) or shape_of(spot, node, evidence)
        if not shape or len(shape) > 5:
            continue
        for method, new in _changes(shape):
            fit = _fits(spot, evidence, node, new)
            if fit is not False and not _crosses(evidence, shape, new):
                primary = as_primary(spot.place.at(node))
                text = f"{primary}{method}" if method.startswith("[") else f"{primary}.{method}"
                weight = 0.4 if fit or (method.startswith("[") and len(new) == _rank(evidence)) else 1.0
                weight = -0.6 if fit is None and _lines_up(evidence, shape, new) else weight
                yield Offer("layout", spot, node, text, method.partition("(")[0], weight)


def usual(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`tensor(boxes)` -> `tensor(boxes).reshape(-1, 4)`: the sizes that the call makes of other data."""
    unlike = spot.step.unlike if spot.step is not None and spot.role == "slice" else None
    node, made = spot.place.node, spot.shape or []
    if unlike is None or not unlike.behind or not isinstance(node, ast.expr) or len(made) == len(unlike.shape):
        return
    sizes = ", ".join(map(str, (-1, *unlike.behind)))
    if 0 not in unlike.behind and math.prod(made) % math.prod(unlike.behind) == 0:
        yield Offer("usual", spot, node, f"{as_primary(spot.place)}.reshape({sizes})", "usual")


def _only_written(spot: Spot, node: ast.AST) -> bool:
    """Whether an expression is there to be written into: `x` of the statement `x.add_(y)`."""
    source = spot.place.source
    method = source.parent_of(node)
    call = source.parent_of(method) if isinstance(method, ast.Attribute) else None
    written = isinstance(method, ast.Attribute) and method.attr.endswith("_") and not method.attr.endswith("__")
    return written and isinstance(call, ast.Call) and isinstance(source.parent_of(call), ast.Expr)


def _fits(spot: Spot, evidence: Evidence, node: ast.AST, new: list[int]) -> bool | None:
    """Whether the failing call takes an operand in this layout; None where that is not known."""
    every = operands(evidence)
    if (
        spot.role != "crash"
        or evidence.crash is None
        or spot.place.node is not getattr(evidence.crash.place, "node", None)
    ):
        return None
    mine = [one for one in every if one.place is not None and one.place.node is node]
    if not mine:
        return None
    others = [one.shape for one in every if one is not mine[0]]
    if evidence.crash.function in BROADCAST and any(len(new) > max(len(one), len(mine[0].shape)) for one in others):
        return False
    if evidence.crash.function in BROADCAST and len(new) < len(mine[0].shape) and new not in others:
        return False
    return fits(evidence.crash.function, [new if one is mine[0] else one.shape for one in every])


def _crosses(evidence: Evidence, shape: list[int], new: list[int]) -> bool:
    """Whether an operand, where it was made, gets more dimensions than both have: each entry would meet all others."""
    crash, rank = evidence.crash, _rank(evidence)
    met = crash is not None and any(one == shape for one, _ in crash.before)
    return met and rank is not None and len(new) > rank


def _lines_up(evidence: Evidence, shape: list[int], new: list[int]) -> bool:
    """Whether dimensions added to one operand of fewer, wherever it was made, let the failing call broadcast it."""
    crash = evidence.crash
    if crash is None or crash.function not in BROADCAST or len(new) != _rank(evidence) or len(new) < len(shape) + 1:
        return False
    others = [one for one, _ in crash.before if one != shape]
    met = len(others) < len(crash.before) and new[: len(shape)] == shape  # the rows stay the rows
    return met and all(fits(crash.function, [new, one]) for one in others)


def _changes(shape: list[int]) -> Iterator[tuple[str, list[int]]]:
    rank = len(shape)
    if rank == 2:
        yield "t()", shape[::-1]
    for at in range(rank + 1):
        yield f"unsqueeze({at if at < rank else -1})", [*shape[:at], 1, *shape[at:]]
    for at in (at for at in range(rank) if shape[at] == 1):  # the last one is said so: it is there for one sample, too
        yield f"squeeze({at if at < rank - 1 or not at else -1})", shape[:at] + shape[at + 1 :]
    if rank > 2:
        yield "flatten(1)", [shape[0], math.prod(shape[1:])]
        yield "flatten(0, 1)", [shape[0] * shape[1], *shape[2:]]
        yield "flatten(-2)", [*shape[:-2], shape[-2] * shape[-1]]
    for one, other in itertools.pairwise(range(rank)) if rank > 2 else ():  # others would turn what lies between, too
        new = shape.copy()
        new[one], new[other] = shape[other], shape[one]
        yield f"transpose({one}, {other})" if one < rank - 2 else "transpose(-2, -1)", new
    for more in (2, 3) if rank == 1 else (2,) if rank < _MOST else ():
        nones = ", ".join(["None"] * more)
        yield f"[:, {nones}]" if rank == 1 else f"[..., {nones}]", [*shape, *[1] * more]
    if rank in (3, 4):
        for order in itertools.permutations(range(rank)):
            if sum(a != b for a, b in zip(order, range(rank), strict=True)) > 2:
                yield f"permute({', '.join(map(str, order))})", [shape[at] for at in order]


def _rank(evidence: Evidence) -> int | None:
    """How many dimensions the failing call's operands have at most, where they are broadcast."""
    crash = evidence.crash
    if crash is None or crash.function not in BROADCAST:
        return None
    return max((len(shape) for shape, _ in crash.before), default=None)
