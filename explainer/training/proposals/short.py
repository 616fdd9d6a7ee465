"""Passes over the data that end early, each time: a jump out of the loop that was meant for a look at the program."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from explainer.source import Source, called
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding
from explainer.training.sites import key, statement

#: The share of a pass's batches below which most of the data are never seen.
_PART = 0.5


def short_passes(watcher: Any) -> Iterator[Finding]:
    """A loop over a loader that trains, and that is left after the first few batches of every pass."""
    for entries in _by_place(watcher.notes.loaders.values()):
        entry, length = entries[-1], entries[-1]["length"] or 0
        passes, taken = (sum(one[name] for one in entries) for name in ("begun", "taken"))
        learning = any(grad for one in entries for _, grad in one["steps"])
        if passes < 2 or not learning or taken > _PART * passes * length or not entry["begun_at"]:
            continue
        found = statement(entry["begun_at"][0])
        loop = found[1] if found is not None and isinstance(found[1], ast.For) else None
        if found is None or loop is None:
            continue
        source = found[0]
        attempts = tuple(_whole(source, loop))
        names = {"taken": round(taken / passes), "length": length, "passes": passes}
        culprit = attempts[0].culprit if attempts else source.span(loop.iter)
        yield Finding("passes-cut-short", names, culprit, attempts, proved=False)


def _by_place(loaders: Iterable[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Loaders by the place that made them: one may be made for each pass."""
    found: dict[Any, list[dict[str, Any]]] = {}
    for entry in loaders:
        found.setdefault(key(entry["site"]), []).append(entry)
    return list(found.values())


def _whole(source: Source, loop: ast.For) -> Iterator[Attempt]:
    """The jump left out; all batches in place of some."""
    for one in loop.body:
        if isinstance(one, ast.If) and not one.orelse and isinstance(one.body[-1], ast.Break) and len(one.body) == 1:
            text = f"if {source.text(one.test)}: break"
            yield Attempt("whole", rewrite.without(source, one), {"text": text}, source.span(one))
    for call in ast.walk(loop.iter):
        if isinstance(call, ast.Call) and called(call) == "islice" and call.args:
            edits = rewrite.replaced(source, call, source.text(call.args[0]))
            yield Attempt("whole", edits, {"text": source.text(call)}, source.span(call))
