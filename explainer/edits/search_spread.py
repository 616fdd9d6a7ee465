"""Candidates for what has one entry for each sample where a join or a `gather` needs one for each place of it."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place, as_primary
from explainer.edits.slices import Operand, editable, operands

_JOINS = ("cat", "concat", "concatenate")


def over_places(evidence: Evidence) -> Iterator[Candidate]:
    """`cat([x, style], -1)` -> `style.unsqueeze(1).expand(-1, x.size(1), -1)`: one style for all steps of a sample."""
    crash, every = evidence.crash, operands(evidence)
    if crash is None or crash.function not in _JOINS or len(every) != 2:
        return
    small, large = sorted(every, key=lambda one: len(one.shape))
    dim = int(crash.numbers[-1][-1]) % len(large.shape) if crash.numbers else 0
    for own in _fitting(small.shape, large.shape, dim):
        missing = [at for at in range(len(large.shape)) if at not in own]
        if small.place is not None and large.place is not None and editable(small.place) and dim in own and missing:
            text = _spread(small.place, large, own)
            words: dict[str, Any] = {"what": small.text[:48], "shape": small.shape, "method": text[len(small.text) :]}
            yield from evidence.replaced(small.place, text, "insert-method", "insert", **words)
            return


def _fitting(small: list[int], large: list[int], dim: int) -> Iterator[tuple[int, ...]]:
    """The dimensions of the larger tensor that those of the smaller one may be: the first, then some of their size."""
    if not small or len(small) >= len(large):
        return
    for own in itertools.combinations(range(len(large)), len(small)):
        if own[0] == 0 and all(at == dim or large[at] == size for at, size in zip(own, small, strict=True)):
            yield own


def _spread(place: Place, large: Operand, own: tuple[int, ...]) -> str:
    rank = len(large.shape)
    other = as_primary(large.place) if large.place is not None else ""
    missing = [at for at in range(rank) if at not in own]
    index = ", ".join(":" if at in own else "None" for at in range(rank))
    new = f".unsqueeze({missing[0]})" if len(missing) == 1 else f"[{index}]"
    sizes = ", ".join("-1" if at in own else f"{other}.size({at})" for at in range(rank))
    return f"{as_primary(place)}{new}.expand({sizes})"


def gathered(evidence: Evidence) -> Iterator[Candidate]:
    """`q.gather(1, a)` -> `q.gather(1, a.unsqueeze(1)).squeeze(1)`: one of the columns of each row."""
    crash, every = evidence.crash, operands(evidence)
    if crash is None or crash.place is None or crash.function != "gather" or len(every) != 2:
        return
    source, index = every
    alone = len(index.shape) == len(source.shape) - 1 and index.shape == source.shape[:-1]
    if not alone or index.place is None or not isinstance(crash.place.node, ast.Call):
        return
    dim = len(source.shape) - 1
    call, start = crash.place.text, crash.place.text.rindex(index.text)
    put = f"{as_primary(index.place)}.unsqueeze({dim})"
    new = f"{call[:start]}{put}{call[start + len(index.text) :]}.squeeze({dim})"
    yield from evidence.replaced(crash.place, new, "replace", "rename", new=new, old=call[:48])
