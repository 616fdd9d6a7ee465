"""Losses as they were noted: whether, and since when, they are not finite."""

from __future__ import annotations

import math
from typing import Any

from explainer.locale import word


def spoilt(notes: Any) -> int | None:
    """Which loss was the first of those that are not finite, up to the last of its backward; None where that is."""
    site = notes.loss_sites[-1] if notes.loss_sites else None
    own = [at for at, one in enumerate(notes.loss_sites) if one == site]
    bad = [at for at in own if not math.isfinite(notes.losses[at])]
    return bad[0] if bad and own[own.index(bad[0]) :] == bad else None


def since(notes: Any, language: str) -> list[str]:
    """The line that says since when losses are not finite; none where they are."""
    first = spoilt(notes)
    if first is None:
        return []
    return [word("watch_nonfinite", language, first=first + 1, count=len(notes.losses))]
