"""A loader that starves the step: most of the time goes into reading batches, as a run with kept batches shows."""

from __future__ import annotations

import ast
import os
from typing import Any

from explainer.diagnosis import Span
from explainer.source import holds, source_of
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding
from explainer.training.search.costs import fixed_runs, kept_with
from explainer.training.trials import Trials, Tried

#: The share of the time that waits, seconds in all, milliseconds a batch, batches, from which on it is tried.
_SHARE, _SECONDS, _EACH, _FEWEST = 0.85, 1.0, 5e-3, 8
#: How many times as fast the same steps must be with batches from memory; which share of the waiting has a line.
_FASTER, _OWN = 4.0, 0.6


def starving(watcher: Any, trials: Trials) -> list[tuple[Finding, list[Tried]]]:
    """The finding, where the program waits for its own code that reads samples and steps are fast without it."""
    entry = max(watcher.notes.loaders.values(), key=lambda one: one["waits"].waited, default=None)
    if entry is None or not _waits(entry["waits"].told) or entry["waits"].waited < _SECONDS or trials.why:
        return []
    plain, kept = trials.waits()
    if not plain or not kept or not _waits(plain["waits"]):
        return []
    before, after = (1000 * (one["waits"][0] + one["waits"][1]) / max(one["waits"][2], 1) for one in (plain, kept))
    lines, looks = plain["lines"], plain["looks"]
    if kept["waits"][2] < _FEWEST or before < _FASTER * after or sum(count for *_, count in lines) < _OWN * looks:
        return []
    file, line, count = max(lines, key=lambda one: one[2])
    waited, worked, batches = entry["waits"].told
    names = {
        "share": round(100 * waited / (waited + worked)),
        "seconds": f"{waited:.1f}",
        "batches": batches,
        "before": f"{before:.3g}",
        "after": f"{after:.3g}",
        "times": f"{before / after:.2g}",
        "here": round(100 * count / looks),
    }
    attempts = (*_once(trials.folder, file, line), *_workers(entry))
    finding = Finding("loader-starves-step", names, _span(trials.folder, file, line), attempts, weight=3)
    tried = trials.tried(finding)
    return [(finding, [one for one in tried if one.compared.better and one.seeds == one.of > 1])]


def _waits(told: tuple[float, float, int]) -> bool:
    waited, worked, count = told
    return count >= _FEWEST and waited > _SHARE * (waited + worked) and waited > _EACH * count


def _span(folder: str, file: str, line: int) -> Span | None:
    source = source_of(os.path.join(folder, file))
    found = source.statement_at(line)
    return source.span(found) if found is not None else None


def _once(folder: str, file: str, line: int) -> tuple[Attempt, ...]:
    """What a line computes of its object alone, whatever the sample, computed once and kept."""
    source = source_of(os.path.join(folder, file))
    function = source.function_at(line)
    runs = fixed_runs(source, function) if isinstance(function, ast.FunctionDef) else ()
    return tuple(kept_with(source, run) for run in runs if any(holds(one, line) for one in run))


def _workers(entry: dict[str, Any]) -> tuple[Attempt, ...]:
    """Worker processes for a loader that has none."""
    found = rewrite.call_in(entry["site"][0], "DataLoader") if entry["site"] and not entry["workers"] else None
    edits = rewrite.with_keyword(*found, "num_workers", "4") if found is not None else ()
    return (Attempt("workers", edits),) if edits else ()
