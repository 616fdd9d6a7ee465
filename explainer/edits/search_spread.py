"""Candidates for what has one entry for each sample where a join or a `gather` needs one for each place of it."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Call, Evidence
from explainer.edits.lines import changed
from explainer.edits.place import Place, as_primary
from explainer.edits.search_batch import CREATORS
from explainer.edits.search_layout import put_behind
from explainer.edits.search_literals import solved_in
from explainer.edits.shapes import BROADCAST
from explainer.edits.slices import Operand, chain, editable, operands
from explainer.frozen import frozen

_COMPARING = ("sub", "__sub__", "eq", "__eq__")
_JOINS = ("cat", "concat", "concatenate")


def over_places(evidence: Evidence) -> Iterator[Candidate]:
    """`cat([x, style], -1)` -> `style.unsqueeze(1).expand(-1, x.size(1), -1)`: one style for all steps of a sample."""
    crash, every = evidence.crash, operands(evidence)
    if crash is None or crash.function not in _JOINS or len(every) != 2:
        return
    small, large = sorted(every, key=lambda one: len(one.shape))
    dim = int(crash.numbers[-1][-1]) % len(large.shape) if crash.numbers else 0
    for own in fitting(small.shape, large.shape, dim):
        missing = [at for at in range(len(large.shape)) if at not in own]
        if small.place is not None and large.place is not None and editable(small.place) and dim in own and missing:
            text = _spread(small.place, large, own)
            words: dict[str, Any] = {"what": small.text[:48], "shape": small.shape, "method": text[len(small.text) :]}
            yield from evidence.replaced(small.place, text, "insert-method", "insert", **words)
            return


def fitting(small: list[int], large: list[int], dim: int) -> Iterator[tuple[int, ...]]:
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
    new = f".unsqueeze({missing[0]})" if len(missing) == 1 else _index(own, rank)
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


@frozen
class Meeting:
    """A failing call in which values with fewer dimensions, one for each sample, meet all places of the samples.

    `index` gives the values (`small`) sizes of one where they lack dimensions: `[:, None, None]`.
    """

    small: Operand
    large: Operand
    place: Place
    frame: Call
    index: str


def meeting(evidence: Evidence) -> Meeting | None:
    """The failing call, where each value of one operand may belong to a sample of the other; None of other calls."""
    crash, every = evidence.crash, operands(evidence)
    if crash is None or crash.place is None or crash.function not in BROADCAST or len(every) != 2:
        return None
    small, large = sorted(every, key=lambda one: len(one.shape))
    own = next(fitting(small.shape, large.shape, -1), None)
    frame = evidence.frame_of(crash.place)
    if own is None or len(large.shape) < 3 or frame is None:
        return None
    return Meeting(small, large, crash.place, frame, _index(own, len(large.shape)))


def _index(own: tuple[int, ...], rank: int) -> str:
    """`[:, None, None]`: sizes of one but for some dimensions."""
    return f"[{', '.join(':' if at in own else 'None' for at in range(rank))}]"


def in_all(evidence: Evidence) -> Iterator[Candidate]:
    """`scale * x + shift` -> `scale[:, :, None, None] * x + shift[:, :, None, None]`: all that a sample has one of."""
    met = meeting(evidence)
    if met is None:
        return
    nodes = [one for one in ast.walk(met.place.statement().node) if isinstance(one, (ast.Name, ast.Attribute))]
    places = [met.place.at(one) for one in nodes if met.frame.shape(ast.unparse(one)) == met.small.shape]
    texts = dict.fromkeys(place.text for place in places)
    if len(texts) > 1:
        changes = [(place.span, f"{place.text}{met.index}") for place in places]
        words: dict[str, Any] = {"what": ", ".join(texts)[:48], "method": met.index, "shape": met.small.shape}
        edits = partial(changed, met.place.source, changes)
        yield from evidence.made(edits, "insert-method", places[0], "insert", **words)


def each_with_each(evidence: Evidence) -> Iterator[Candidate]:
    """`((z - centres) ** 2).sum(-1)` -> `z.unsqueeze(1) - centres`: the distances of each row to each of the others."""
    crash, every = evidence.crash, operands(evidence)
    if crash is None or crash.place is None or crash.function not in _COMPARING or len(every) < 2:
        return
    left, right = every[:2]
    rows = len(left.shape) == len(right.shape) == 2 and left.shape[1] == right.shape[1]
    statement = ast.unparse(crash.place.statement().node)
    reduced = re.search(r"(sum|mean|norm|all|any)\([^()]*(-1|2)\)", statement)
    averaged = re.search(r"\.(mean|sum)\(\)|loss", statement)  # then each row goes with one, and other rows were meant
    if rows and reduced and not averaged and left.place is not None and editable(left.place):
        yield from put_behind(evidence, left.place, "unsqueeze(1)", left.shape)


def table_for(evidence: Evidence) -> Iterator[Candidate]:
    """`zeros(1, (image // patch) ** 2 + 1, dim)` added to more rows: the number from which its size follows."""
    every = operands(evidence)
    for own, other in itertools.permutations(every[:2], 2):
        made = next((step for step in chain(evidence, own.start, 6) if step.function in CREATORS), None)
        apart = [b for a, b in zip(own.shape, other.shape, strict=False) if a != b and a > 1]
        if made is None or len(apart) != 1 or len(own.shape) != len(other.shape) or apart[0] not in evidence.said:
            continue
        for tree in made.numbers:
            if tree[0] == "op" and int(tree[-1]) in own.shape and int(tree[-1]) in evidence.said:
                found = solved_in(evidence, tree, apart[0], "size")
                yield from (one for one in found if one.culprit.code != "1")  # the 1 for one token more stays
