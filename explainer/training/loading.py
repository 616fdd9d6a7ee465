"""All that watching needs, imported at once: what looks at calls of torch, and what looks for findings in the notes."""

from __future__ import annotations

from explainer.training import effects, ends, fits, observer, precision, proposals, streams, weighing  # noqa: F401
from explainer.training.calls import LOOKS, NOTED
from explainer.training.kinds import load
from explainer.training.looks import (  # noqa: F401
    axes,
    bounds,
    cancelling,
    dead,
    dropping,
    heads,
    masked,
    padded,
    positions,
    quantiles,
    runs,
    sequences,
    shifts,
    swamped,
    switches,
)

__all__ = ["LOOKS", "NOTED"]
load()
