"""Ranks of one job whose weights are no longer the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from explainer.training import ranks
from explainer.training.finding import Finding, finder
from explainer.training.kinds.losses import shown
from explainer.training.kinds.optimizers import span_of
from explainer.training.rewrite import call_in


@finder
def ranks_drift(watcher: Any) -> Iterator[Finding]:
    """Nearly all weights differ from those of another rank, from some step on until the last look."""
    if watcher.drift is None:
        watcher.drift = ranks.drifted(watcher) or {}
    found = watcher.drift
    if not found:
        return
    stepping = next((one for one in watcher.notes.optimizers if one.steps and one.stepped_at), None)
    how = "bypassed" if watcher.wrapped else "averaged" if watcher.notes.counts["averaged"] else "alone"
    site = _begun(watcher, found) if how != "alone" else ()
    span = shown(call_in(site[0]), site[0]) if site else span_of(stepping.stepped_at, "step") if stepping else None
    sizes = {name: f"{found[name]:.4g}" for name in ("own", "other")}
    yield Finding("ranks-drift-apart", {**found, **sizes, "how": how}, span, weight=9)


def _begun(watcher: Any, found: dict[str, Any]) -> Any:
    """Where the model was called; where its weights began apart, where it was built."""
    root = next((one for one in watcher.notes.roots.values() if one["kind"] == found["class"]), None)
    if root is None:
        return ()
    if not found["since"] and not watcher.wrapped:
        return watcher.notes.built.get(root["of"]()) or ()
    return next((mode.site for mode in root["modes"] if mode.learning), ())
