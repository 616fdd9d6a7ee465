"""A schedule that waits for a number to get better, and is told the wrong way round which way that is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.source import Source
from explainer.training import rewrite
from explainer.training.directions import better_by_rising
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.kinds.optimizers import span_of
from explainer.training.kinds.strength import plain

#: So many numbers must have been told.
_LEAST = 4


@finder
def awaits_worse(watcher: Any) -> Iterator[Finding]:
    """`ReduceLROnPlateau(optimizer)` that is stepped with an accuracy: the rate is cut while that rises."""
    for entry in watcher.notes.schedulers:
        told = entry.get("told") or []
        made = rewrite.call_in(entry["site"][0], entry["kind"]) if len(told) >= _LEAST and entry["site"] else None
        stepped = rewrite.call_in(entry["stepped_at"][0], "step") if made is not None and entry["stepped_at"] else None
        if made is None or stepped is None or not _contradicted(watcher, entry, *stepped):
            continue
        one, other = ("min", "max") if entry["mode"] == "min" else ("max", "min")
        attempts = (Attempt("mode", rewrite.with_keyword(*made, "mode", f'"{other}"')),)
        rates = watcher.notes.optimizers[entry["optimizer"]].rates
        names = {
            "kind": entry["kind"],
            "mode": one,
            "other": other,
            "text": stepped[0].text(stepped[1]),
            "first": plain(told[0]),
            "last": plain(told[-1]),
            "start": plain(rates[0][0]),
            "end": plain(rates[-1][0]),
        }
        culprit = span_of(entry["site"], entry["kind"])
        yield Finding("plateau-mode-contradicted", names, culprit, attempts, proved=False, seen=True, weight=7)


def _contradicted(watcher: Any, entry: dict[str, Any], source: Source, call: ast.Call) -> bool:
    """Whether the rate was cut while the number got better, which a name or how it is computed must not deny."""
    told, number = entry["told"], rewrite.argument(call, "metrics", 0)
    rates = watcher.notes.optimizers[entry["optimizer"]].rates if entry["optimizer"] is not None else []
    if number is None or len(rates) < 2 or not rates[-1][0] < rates[0][0]:
        return False
    up = better_by_rising(source, number)
    risen = sorted(told[len(told) // 2 :])[0] > told[0]
    fallen = sorted(told[len(told) // 2 :])[-1] < told[0]
    learned = watcher.notes.losses[-1:] < watcher.notes.losses[:1]
    if entry["mode"] == "min":
        return up is True or (up is None and risen and learned)
    return up is False or (up is None and fallen and learned)
