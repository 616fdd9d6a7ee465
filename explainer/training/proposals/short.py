"""Passes over the data that end early, each time: a jump out of the loop that was meant for a look at the program."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from explainer.source import Source, called, stored
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding
from explainer.training.sites import key, statement
from explainer.training.sources import program_sources

#: The share of a pass's batches below which most of the data are never seen.
_PART = 0.5
#: What gives its values once.
_ONCE = ("zip", "map", "filter", "iter", "enumerate", "reversed")


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


def used_up(watcher: Any) -> Iterator[Finding]:
    """`batches = zip(x, y)` before the loop over the epochs: the first one uses it up, the others train on nothing."""
    for source in program_sources(watcher):
        for outer in (one for one in source.nodes() if isinstance(one, (ast.For, ast.While))):
            for loop in (one for one in ast.walk(outer) if isinstance(one, ast.For) and one is not outer):
                made = _made_before(source, outer, loop)
                if made is not None and any(isinstance(one, ast.Call) and called(one) == "backward"
                                            for one in ast.walk(loop)):  # fmt: skip
                    text = source.text(made)
                    listed = f"list{text}" if isinstance(made, ast.GeneratorExp) else f"list({text})"
                    names = {"name": source.text(loop.iter), "text": text, "line": made.lineno, "new": listed}
                    edits = rewrite.replaced(source, made, listed)
                    attempts = (Attempt("list", edits, {"new": listed}, source.span(made)),)
                    yield Finding(
                        "passes-used-up", names, source.span(made), attempts, proved=False, seen=True, weight=9
                    )


def _made_before(source: Source, outer: ast.For | ast.While, loop: ast.For) -> ast.expr | None:
    """The iterator that a loop goes through and that was made once, before the loop around it; None of all else."""
    name = loop.iter.id if isinstance(loop.iter, ast.Name) else ""
    scope = source.scope_at(loop.lineno)
    given = [one for one in ast.walk(scope) if isinstance(one, ast.Assign) and name in stored(one)] if name else []
    value = given[0].value if len(given) == 1 and given[0].lineno < outer.lineno else None
    once = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in _ONCE
    return value if once or isinstance(value, ast.GeneratorExp) else None


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
