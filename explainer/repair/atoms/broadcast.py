"""What is not broadcast as it stands: what is joined, an index, the rows of two sets that meet each with each."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

from explainer.edits.evidence import Evidence
from explainer.edits.generators.shapes import BROADCAST
from explainer.edits.generators.slices import Operand, operands
from explainer.edits.place import as_primary
from explainer.repair.atoms.common import expressions, is_called, number, shape_of
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import called, walked

_JOINING = ("cat", "concat", "concatenate", "hstack", "vstack", "stack")
_INDEXING = ("gather", "scatter", "scatter_", "scatter_add", "scatter_add_", "scatter_reduce", "scatter_reduce_",
             "take_along_dim")  # fmt: skip
_PLAIN = (ast.Name, ast.Attribute, ast.Subscript)
#: What leaves one number of the features of each pair.
_OVER_FEATURES = ("sum", "mean", "norm", "vector_norm", "prod", "amax", "amin", "all", "any")


def expanded(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`cat([token, x], 1)` -> `cat([token.expand(x.size(0), -1, -1), x], 1)`; an index expanded like its source."""
    crash = evidence.crash
    if spot.role != "crash" or crash is None or crash.place is None or spot.place.node is not crash.place.node:
        return
    every = [(one.place, one) for one in operands(evidence) if one.place is not None]
    for (place, one), (beside, other) in itertools.permutations(every, 2):
        if crash.function in _JOINING and len(one.shape) == len(other.shape):
            for wanted in _single(one.shape, other.shape):
                sizes = [f"{as_primary(beside)}.size({at})" if at in wanted else "-1" for at in range(len(one.shape))]
                yield Offer("expanded", spot, place.node, f"{as_primary(place)}.expand({', '.join(sizes)})", "sizes")
        elif crash.function in _INDEXING and "int" in one.dtype and 0 < len(one.shape) < len(other.shape):
            more = ", ".join(["None"] * (len(other.shape) - len(one.shape)))
            for at, new in enumerate((f"[..., {more}]", f"[{more}]")):
                made = f"{as_primary(place)}{new}.expand_as({beside.text})"
                yield Offer("expanded", spot, place.node, made, "index", 0.3 * at)


def _single(shape: Sequence[int], other: Sequence[int]) -> Iterator[Sequence[int]]:
    """The dimensions of size 1 that are larger beside, all of them or all but the one along which both are joined."""
    single = [at for at, pair in enumerate(zip(shape, other, strict=True)) if pair[0] == 1 != pair[1]]
    if single:
        yield single
    for kept in single if len(single) > 1 else ():
        yield [at for at in single if at != kept]


def every_pair(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`x - centres` -> `x.unsqueeze(1) - centres`: rows of two sets, whose features are summed up behind it.

    Or where the two are given to the function that does so.
    """
    sets = [one.shape for one in _sets(evidence)] if spot.role in ("crash", "caller") else []
    plain = [one for one in expressions(spot) if sets and isinstance(one, _PLAIN) and _is_given(spot, one)]
    known = [(one, shape_of(spot, one, evidence)) for one in plain]
    met = [(node, shape) for node, shape in known if shape in sets]
    for node, _ in met if len({tuple(shape or ()) for _, shape in met}) == len(sets) else ():
        kept = 0.2 if isinstance(node, ast.Attribute) else 0.0  # samples come first of what they are compared with
        yield Offer("every_pair", spot, node, f"{as_primary(spot.place.at(node))}.unsqueeze(1)", "rows", kept)


def _is_given(spot: Spot, node: ast.expr) -> bool:
    """Whether an expression is an operand or an argument: nothing is read of it first."""
    parent = spot.place.source.parent_of(node)
    return isinstance(parent, (ast.BinOp, ast.Call, ast.keyword)) and not is_called(spot, node)


def _sets(evidence: Evidence) -> list[Operand]:
    """The two operands that differ in their first size alone, where one number is left of the others for each pair.

    Where other data went well, or one number is left of all, rows were to meet that belong together.
    """
    every, crash = operands(evidence), evidence.crash
    rows = crash is not None and crash.function in BROADCAST and len(every) == 2 and len(every[0].shape) > 1
    rows = rows and not evidence.passed
    if not rows or every[0].shape[1:] != every[1].shape[1:] or 1 in (every[0].shape[0], every[1].shape[0]):
        return []
    behind = [one for one in _behind(evidence) if called(one) in _OVER_FEATURES]
    whole = any(isinstance(one.func, ast.Attribute) and not one.args and not one.keywords for one in behind)
    return every if not whole and any(_reduces(one, len(every[0].shape)) for one in behind) else []


def _behind(evidence: Evidence) -> Iterator[ast.Call]:
    """The calls of the function that failed, from the line on in which it did."""
    place = evidence.crash.place if evidence.crash is not None else None
    nodes = walked(place.source.scope_at(place.line)) if place is not None else ()
    yield from (one for one in nodes if isinstance(one, ast.Call) and (one.end_lineno or 0) >= place.line)  # type: ignore[union-attr]


def _reduces(call: ast.Call, last: int) -> bool:
    """Whether a call reduces a tensor along its last dimension."""
    given = [*call.args, *(one.value for one in call.keywords if one.arg in ("dim", "axis"))]
    return any(number(one) in (-1, last) for one in given)
