"""Candidates for a view in a helper that several calls share, where one of them has another number of heads."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Step
from explainer.edits.expressions import evaluated
from explainer.edits.place import Place
from explainer.edits.search_batch import sizes_of
from explainer.source import called


def counted_from_rest(evidence: Evidence) -> Iterator[Candidate]:
    """`x.unflatten(-1, (self.heads, self.width))` -> `(-1, self.width)`, where keys have fewer heads than queries."""
    crash, frame = evidence.crash, evidence.frames[-1] if evidence.frames else None
    if crash is None or crash.place is None or frame is None or not crash.before or not _is_shared(evidence):
        return
    sizes, total = _sizes(crash.place, crash)
    values = [evaluated(one, frame.scope) for one in sizes]
    for at, (size, value) in enumerate(zip(sizes, values, strict=True)):
        rest = math.prod(one for one in values[:at] + values[at + 1 :] if one is not None)
        plain = isinstance(size, (ast.Name, ast.Attribute)) and min((one or 0 for one in values), default=0) > 0
        if plain and total % rest == 0 and total // rest != value:
            old = crash.place.source.text(size)
            yield from evidence.replaced(crash.place.at(size), "-1", "replace", "count-rest", crash.place, old=old)


def _is_shared(evidence: Evidence) -> bool:
    """Whether the program calls the failing function in more places than one."""
    place = evidence.frames[-1].place
    name = getattr(place.source.function_at(place.span.line), "name", "forward")
    nodes = (node for source in evidence.sources_seen() for node in source.nodes())
    return name != "forward" and sum(isinstance(one, ast.Call) and called(one) == name for one in nodes) > 1


def _sizes(place: Place, crash: Step) -> tuple[list[ast.expr], int]:
    """The sizes that a method gives a view, the batch's left out, and how many elements they are for."""
    shape, parts = crash.before[0][0], sizes_of(place)
    if crash.function == "unflatten" and crash.numbers:
        return parts[1:], shape[int(crash.numbers[0][-1])]
    return (parts[1:], math.prod(shape[1:])) if crash.function in ("view", "reshape") else ([], 0)
