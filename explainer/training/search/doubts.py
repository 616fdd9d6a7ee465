"""What puts a training in doubt: predictions about as good as a constant one, an evaluation far from the training."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping
from typing import Any

from explainer.frozen import frozen
from explainer.source import Source
from explainer.training.directions import directions
from explainer.training.judge import COSTS, compared, gain, metrics, rises
from explainer.training.looks.fits import last_fit, learned
from explainer.training.search.gauges import gauged_names
from explainer.training.sources import program_sources

#: Fits below which a training has learned little, or from which on it has learned; how far an evaluation may lie off,
#: and from which fit on it is good.
_LITTLE, _WELL, _OFF, _GOOD = 0.6, 0.7, 0.3, 0.85
#: The share of its first value by which a loss that is compared with no targets must fall.
_FALLEN = 0.1
#: The share from which on a loss that has fallen so far was learned, whatever else is compared that is not nothing.
_GONE, _NOTHING = 0.9, 0.15
#: The fit below which predictions are so far off that no loss speaks for them.
_WORSE = -1.0
_STEPS = 40
#: How a number of the program's own is printed.
_NAMED = re.compile(r"([A-Za-z_][\w@.-]*)\s*[=:]\s*(?:$|%)")
#: Shares that fall below 0 where a constant would do better.
BELOW = frozenset(["r2", "skill", "nse", "corr", "kappa", "mcc", "explained"])
#: By which share its own number must be better than without a step, else nothing was taught.
_TAUGHT = 0.1


@frozen
class Doubt:
    """`unlearned`, `apart`, or by the program's own number `poor`, `refused`, `untaught`, with the fits or None.

    `untaught`: the number is no better than `number`, that of the same program where no step changes a weight; of what
    is `poor` it is the number itself. `refused`: the program says in words that it is not content; `judging` are its
    files then, empty where it says nothing.
    A fit is 1 where all is right and 0 where a constant would do as well.
    """

    kind: str
    training: float | None
    evaluation: float | None
    number: float | None = None
    judging: tuple[Source, ...] = ()


def doubted(watcher: Any, trials: Any) -> Doubt | None:
    """What speaks against a run, by what was noted or else by what its own number is without learning."""
    found = doubt(watcher)
    if found is not None or watcher.notes.steps < _STEPS or trials.why or trials.left <= 0:
        return found
    sources = program_sources(watcher)
    taken = gauged_names(sources)  # what a program takes says nothing of what it learns
    if not taken and trials.verdict(sources) is False:
        return Doubt("refused", None, None)
    names, known = _printed(watcher)
    if last_fit(watcher, True) is not None:  # outputs are compared: only what is below any constant speaks against it
        return poor(trials.control(), 0.0) if any(name.lower() in BELOW for name in names) else None
    asked = any(_own(name, known) for name in names if name.lower() not in taken)
    return poor(trials.control()) or untaught(trials.control(), trials.still()) if asked else None


def _printed(watcher: Any) -> tuple[set[str], Mapping[str, bool | float]]:
    """The names of the numbers that a program prints, and the directions that are known of them."""
    sources = program_sources(watcher)
    known = directions(sources)
    texts = [node.value for source in sources for node in source.nodes()
             if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200]  # fmt: skip
    return {*known, *(name for text in texts for name in _NAMED.findall(text))}, known


def _own(name: str, known: Mapping[str, bool | float]) -> bool:
    """Whether a number that is printed tells how well something was learned, and is no loss."""
    own = not name.lower().endswith("loss") and not COSTS & set(re.split(r"\W|_", name))
    return own and rises(name, known) is not None


def poor(control: Any, most: float = _LITTLE) -> Doubt | None:
    """What speaks against a run whose own share, 1 at best, is below `most`."""
    if not control:
        return None
    known = control.get("directions", {})
    printed = metrics(control["printed"], known)
    shares = [value for name, value in printed.items() if rises(name, known)]
    worse = not BELOW.isdisjoint(printed)
    small = shares and all((worse or one >= 0) and one < most for one in shares)
    return Doubt("poor", None, None, max(shares)) if small else None


def untaught(control: Any, still: Any) -> Doubt | None:
    """What speaks against a run whose own number is hardly better than that of a run whose steps change nothing."""
    if not control or not still:
        return None
    pair = compared(still, control)
    tells = _own(pair.metric, control.get("directions", {})) and math.isfinite(pair.before)
    return Doubt("untaught", None, None, pair.before) if tells and gain(pair) < _TAUGHT else None


def doubt(watcher: Any) -> Doubt | None:
    """What speaks against a run that has ended; None where nothing does."""
    notes = watcher.notes
    if notes.steps < _STEPS:
        return None
    training, evaluation = last_fit(watcher, False), last_fit(watcher, True)
    if evaluation is not None and evaluation >= _GOOD:
        return None  # however training looks, with samples mixed or labels smoothed: it was learned
    share = learned(watcher)  # beyond 1 a loss has fallen below zero, which says nothing of how well
    gone = share > _GONE and (training is None or training > (0 if share > 1 else _WORSE))
    if training is None and evaluation is not None and evaluation < (_NOTHING if gone else _LITTLE):
        return Doubt("unlearned", None, evaluation)
    if training is None:
        stepping = [one for one in notes.optimizers if one.steps > 8]
        return Doubt("unlearned", None, evaluation) if len(stepping) == 1 and -1 <= share < _FALLEN else None
    if training < _LITTLE and not gone:  # what is compared may be but a part of what is learned
        return Doubt("unlearned", training, evaluation)
    if training >= _WELL and evaluation is not None and evaluation < training - _OFF:
        return Doubt("apart", training, evaluation)
    return None
