"""Candidates for copies beyond any memory: sizes given to `repeat` and `tile`, which take counts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place, as_operand


def sizes_as_counts(evidence: Evidence) -> Iterator[Candidate]:
    """`mask.repeat(n, t, t)` of [1, t, t] -> `mask.expand(n, t, t)`; where a copy is wanted, `mask.repeat(n, 1, 1)`."""
    crash = evidence.crash
    place = crash.place if crash is not None else None
    if crash is None or place is None or crash.function not in ("repeat", "tile") or not crash.before:
        return
    found = _parts(place)
    counts = [int(tree[-1]) for tree in crash.numbers]
    shape = [0] * (len(counts) - len(crash.before[0][0])) + crash.before[0][0]
    taken = [size > 1 and size == count for size, count in zip(shape, counts, strict=False)]
    if found is None or len(shape) != len(counts) or not any(taken):
        return
    tensor, given = found
    if all(same or size in (0, 1) for same, size in zip(taken, shape, strict=True)):
        new = f"{as_operand(tensor)}.expand({', '.join(given)})"
        yield from evidence.replaced(place, new, "replace", "sizes-not-counts", new=new, shape=crash.before[0][0])
    if len(given) == len(counts):
        left = ["1" if same else text for same, text in zip(taken, given, strict=True)]
        new = f"{as_operand(tensor)}.repeat({', '.join(left)})"
        yield from evidence.replaced(place, new, "replace", "sizes-not-counts", new=new, shape=crash.before[0][0])


def _parts(place: Place) -> tuple[str, list[str]] | None:
    """The tensor and the counts of `x.repeat(2, 3)`, `x.tile((2, 3))` and `torch.tile(x, (2, 3))`, as written."""
    node = place.node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    given = [*node.args, *(word.value for word in node.keywords)]
    tensor = node.func.value
    if isinstance(tensor, ast.Name) and tensor.id == "torch" and given:
        tensor = given.pop(0)
    if len(given) == 1 and isinstance(given[0], (ast.Tuple, ast.List)):
        given = given[0].elts
    text = place.source.text
    return (text(tensor), [text(one) for one in given]) if given else None
