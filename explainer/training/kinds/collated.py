"""A `collate_fn` whose batches were compared with their samples: one part came in an order of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from explainer.source import Source, source_of
from explainer.training.finding import Finding, finder
from explainer.training.kinds.projections import sorted_alone
from explainer.training.kinds.resorted import sorted_apart

#: In how many batches at least the parts must stand apart.
_BATCHES = 2


@finder
def parts_apart(watcher: Any) -> Iterator[Finding]:
    """`collate_fn` hands out the samples' inputs in another order than their labels: a fact, whatever orders them."""
    every = [*sorted_alone(watcher), *sorted_apart(watcher)]
    for code, compared in watcher.collated.items():
        places = [one for one in compared if one is not None]
        if len(places) < _BATCHES:
            continue
        source = source_of(code.co_filename)
        function = source.function_at(code.co_firstlineno)
        if function is None:
            continue
        known = [one for one in every if one.culprit is not None and _within(function, source, one.culprit)]
        yield replace(known[0], proved=True) if known else _told(source, function, places)


def _within(function: Any, source: Source, span: Any) -> bool:
    return span.file == source.file and function.lineno <= span.line <= (function.end_lineno or 0)


def _told(source: Source, function: Any, places: list[tuple[Any, Any]]) -> Finding:
    """What is known where no line is known to do it: which of the returned parts stand apart."""
    given = [one for one in ast.walk(function) if isinstance(one, ast.Return) and one.value is not None]
    one, other = (_part(source, given[-1].value if given else None, place) for place in places[0])
    names = {"one": one, "other": other, "text": f"{function.name}()", "whole": "", "batches": len(places)}
    return Finding("sorted-apart", names, source.span(given[-1] if given else function), weight=8)


def _part(source: Source, whole: ast.expr | None, place: Any) -> str:
    """How a function's result has the part with a number or a key."""
    if isinstance(whole, ast.Tuple) and isinstance(place, int) and place < len(whole.elts):
        return source.text(whole.elts[place])
    return repr(place) if isinstance(place, str) else f"part {place}"
