"""What puts a training in doubt: predictions about as good as a constant one, an evaluation far from the training."""

from __future__ import annotations

from typing import Any

from explainer.frozen import frozen
from explainer.training.fits import last_fit, learned

#: Fits below which a training has learned little, or from which on it has learned; how far an evaluation may lie off,
#: and from which fit on it is good.
_LITTLE, _WELL, _OFF, _GOOD = 0.6, 0.7, 0.3, 0.85
#: The share of its first value by which a loss that is compared with no targets must fall.
_FALLEN = 0.1
#: The share from which on a loss that has fallen so far was learned, whatever else is compared.
_GONE = 0.9
_STEPS = 40


@frozen
class Doubt:
    """`unlearned` or `apart`, with the fits that were measured (1: all right, 0: as a constant would do); or None."""

    kind: str
    training: float | None
    evaluation: float | None


def doubt(watcher: Any) -> Doubt | None:
    """What speaks against a run that has ended; None where nothing does."""
    notes = watcher.notes
    if notes.steps < _STEPS:
        return None
    training, evaluation = last_fit(watcher, False), last_fit(watcher, True)
    if evaluation is not None and evaluation >= _GOOD:
        return None  # however training looks, with samples mixed or labels smoothed: it was learned
    if training is None:
        stepping = [one for one in notes.optimizers if one.steps > 8]
        share = learned(watcher)
        return Doubt("unlearned", None, evaluation) if len(stepping) == 1 and -1 <= share < _FALLEN else None
    if training < _LITTLE and not learned(watcher) > _GONE:  # what is compared may be but a part of what is learned
        return Doubt("unlearned", training, evaluation)
    if training >= _WELL and evaluation is not None and evaluation < training - _OFF:
        return Doubt("apart", training, evaluation)
    return None
