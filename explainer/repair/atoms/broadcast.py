"""What is broadcast without being meant to, and what is not: an operand brought to the sizes of another."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

from explainer.edits.evidence import Evidence
from explainer.edits.generators.shapes import BROADCAST
from explainer.edits.generators.slices import operands
from explainer.edits.place import as_primary
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import called

_JOINING = ("cat", "concat", "concatenate", "hstack", "vstack", "stack")
_INDEXING = ("gather", "scatter", "scatter_", "scatter_add", "scatter_add_", "scatter_reduce", "scatter_reduce_",
             "take_along_dim")  # fmt: skip


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


def outer(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`q - goal` -> `q.squeeze(-1) - goal`: a column met a row behind the failing call, and made a table of both."""
    step, node = spot.step, spot.place.node
    if step is None or spot.role != "slice" or step.function not in BROADCAST or not isinstance(node, ast.BinOp):
        return
    shapes = [shape for shape, _ in step.before[:2]]
    for at, side in enumerate((node.left, node.right) if len(shapes) == 2 else ()):
        mine, other = shapes[at], shapes[1 - at]
        column = other != [] and mine == [*other, 1] and step.shape == [*other, other[-1]] and other[-1] > 1
        if column and not _made_so(side):
            yield Offer("outer", spot, side, f"{as_primary(spot.place.at(side))}.squeeze(-1)", "column")


def _made_so(node: ast.expr) -> bool:
    """Whether an operand is turned into a column right there: then a table of both is meant."""
    if isinstance(node, ast.Subscript):
        return "None" in ast.unparse(node.slice)
    return isinstance(node, ast.Call) and called(node) in ("unsqueeze", "view", "reshape")


def _single(shape: Sequence[int], other: Sequence[int]) -> Iterator[Sequence[int]]:
    """The dimensions of size 1 that are larger beside, all of them or all but the one along which both are joined."""
    single = [at for at, pair in enumerate(zip(shape, other, strict=True)) if pair[0] == 1 != pair[1]]
    if single:
        yield single
    for kept in single if len(single) > 1 else ():
        yield [at for at in single if at != kept]
