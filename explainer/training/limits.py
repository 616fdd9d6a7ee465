"""What of a training could not be looked at, each in one line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from explainer.locale import word

#: Steps below which most of what is looked for has not been seen often enough.
ENOUGH = 5


def limits(watcher: Any, language: str) -> Iterator[str]:
    """A training that was too short, one without an optimizer of torch, iterations that nobody may look into."""
    notes = watcher.notes
    if (
        (notes.counts["backward"] or notes.counts["grad"])
        and not notes.counts["step"]
        and not any(one.reached for one in notes.optimizers)
    ):
        yield word("watch_foreign", language)
    if 0 < notes.steps < ENOUGH:
        yield word("watch_short", language, steps=notes.steps)
    elif watcher.deep.refused and not notes.roots:
        yield word("watch_closed", language)
    if watcher.loop_of:
        yield word("watch_loop_of", language, package=watcher.loop_of)
