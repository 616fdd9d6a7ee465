"""All that watching needs, imported at once: what looks at calls of torch, and what looks for findings in the notes."""

from __future__ import annotations

from explainer.training import observer, proposals  # noqa: F401
from explainer.training.calls import LOOKS, NOTED
from explainer.training.kinds import load
from explainer.training.looks import (  # noqa: F401
    axes,
    bounds,
    cancelling,
    dead,
    draws,
    dropping,
    effects,
    ends,
    fits,
    heads,
    masked,
    padded,
    positions,
    precision,
    quantiles,
    reading,
    runs,
    sequences,
    shifts,
    streams,
    swamped,
    switches,
    weighing,
)

__all__ = ["LOOKS", "NOTED"]
load()
