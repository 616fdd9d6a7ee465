"""What is joined, or used as an index, is not broadcast: an operand brought to the sizes of another."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from explainer.edits.evidence import Evidence
from explainer.edits.generators.slices import operands
from explainer.edits.place import as_primary
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot

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


def _single(shape: Sequence[int], other: Sequence[int]) -> Iterator[Sequence[int]]:
    """The dimensions of size 1 that are larger beside, all of them or all but the one along which both are joined."""
    single = [at for at, pair in enumerate(zip(shape, other, strict=True)) if pair[0] == 1 != pair[1]]
    if single:
        yield single
    for kept in single if len(single) > 1 else ():
        yield [at for at in single if at != kept]
