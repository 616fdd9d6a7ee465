"""The search: offers of all edits at all places of a training in doubt, screened by their first steps, tried whole."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

from explainer.training.finding import Attempt, Finding
from explainer.training.judge import FIT, gain, rises
from explainer.training.search import evaluation, expressions, places, whole
from explainer.training.search.doubts import Doubt, asked, doubt, poor
from explainer.training.search.offer import Offer
from explainer.training.trials import Trials, Tried

_log = logging.getLogger(__name__)
RULE = "training-edit-found"
#: By how much the fit of the first steps must be better to be tried whole, and how many of the best are.
_BETTER, _WHOLE = 0.12, 2
#: Seeds on which an edit must be better, and by which share of the program's own number.
_SEEDS, _GAIN = 3, 0.25
#: Which part of what a share lacks an edit must bring: else the doubt stands.
_ROOM = 0.4
#: The share of a run's steps that tells which edits are worth a whole one; at least and at most so many.
_SHARE, _LEAST, _LONGEST = 0.25, 64, 240
#: How many whole runs the last trials take: the best ones, and one of them with its control on each further seed.
_RESERVE = _WHOLE + 2 * (_SEEDS - 1)


def searched(watcher: Any, trials: Trials) -> tuple[Finding, list[Tried]] | None:
    """The edit that repairs a training in doubt, as trials on several seeds showed; None where none is found."""
    if trials.why or trials.left <= 0:
        return None
    found = doubt(watcher)
    if found is None and asked(watcher):
        found = poor(trials.control())
    if found is None:
        return None
    offers = list(ranked(watcher, found))
    best = _screened(watcher, offers, trials) if found.kind == "unlearned" and found.training is not None else None
    best = best if best is not None else [one.attempt() for one in offers]  # nothing tells before the end
    for at in range(0, len(best), _WHOLE):
        tried = trials.tried(_finding(found, best[at : at + _WHOLE]), seeds=_SEEDS)
        if tried and _holds(tried[0], found):
            return _finding(found, [tried[0].attempt]), tried[:1]
        if trials.left < _RESERVE * trials.lasted:
            break
    return None


def _holds(one: Tried, found: Doubt) -> bool:
    pair = one.compared
    if pair.metric == FIT and found.kind == "apart":
        return False  # an edit of the evaluation may change what is compared there
    better = pair.better and one.whole and one.seeds == one.of == _SEEDS
    share = rises(pair.metric) and max(pair.after, pair.before) <= 1
    if share and pair.after - pair.before < _ROOM * (1 - pair.before):
        return False  # still as poor, by another reason
    counted = abs(pair.after) <= 1 or abs(pair.before) > 1  # a share that is summed in place of averaged is no share
    return better and bool(pair.metric) and counted and gain(pair) > _GAIN


def _finding(found: Doubt, attempts: Sequence[Attempt]) -> Finding:
    first = attempts[0]
    names = {
        "doubt": found.kind,
        "training": _percent(found.training),
        "evaluation": _percent(found.evaluation),
        **first.names,
    }
    return Finding(RULE, names, first.culprit, tuple(attempts), proved=False, searched=True)


def _percent(fit: float | None) -> int | None:
    return None if fit is None else max(round(100 * fit), 0)


def ranked(watcher: Any, found: Doubt) -> Iterator[Offer]:
    """All offers, each edit once, the most likely first."""
    offers = sorted((one for one in _offers(watcher, found) if one.edits), key=lambda one: one.cost)
    seen = set()
    for one in offers:
        if one.edits not in seen:
            seen.add(one.edits)
            yield one


def _offers(watcher: Any, found: Doubt) -> Iterator[Offer]:
    return evaluation.offers(watcher) if found.kind == "apart" else _of_training(watcher)


def _of_training(watcher: Any) -> Iterator[Offer]:
    by_source: dict[int, tuple[Any, list[Any]]] = {}
    for source, statement in places.statements(watcher, places.LEARNING):
        if not places.behind_backward(watcher, source, statement):  # what comes then is no part of the loss
            yield from expressions.expressions(source, statement)
            yield from whole.left_out(source, statement)
        by_source.setdefault(id(source), (source, []))[1].append(statement)
    for source, ran in by_source.values():
        yield from expressions.names(source, ran)
    yield from expressions.flags(watcher)
    yield from whole.of_loops(watcher)
    yield from whole.learning_rates(watcher)
    for source, call in places.calls(watcher):
        yield from whole.settings(source, call)
    for source in places.program_sources(watcher):
        yield from whole.beforehand(source)
        yield from expressions.neighbours(source)
        yield from whole.turned_loops(source)
        yield from whole.of_data(
            source, {one.lineno for where, ran in by_source.values() if where is source for one in ran}
        )


def _screened(watcher: Any, offers: Sequence[Offer], trials: Trials) -> list[Attempt]:
    """The attempts whose first steps fit far better than the program's own, the best first."""
    steps = min(max(_LEAST, round(_SHARE * watcher.notes.steps)), _LONGEST)
    attempts = [one.attempt() for one in offers]
    seen = trials.begun(attempts, steps)
    control = next(seen, (None, None))[1]
    own = _fit(control, steps)
    if own is None:
        return []
    reserve = _RESERVE * trials.lasted
    good: list[tuple[float, Attempt]] = []
    for attempt, one in seen:
        fit = _fit(one, steps)
        if fit is not None:
            _log.debug("%.2f %s", fit - own, attempt.names)
        if fit is not None and fit > own + _BETTER:
            good.append((fit, attempt))
        if trials.left < reserve or sum(each > own + 4 * _BETTER for each, _ in good) >= _WHOLE:
            break
    return [attempt for _, attempt in sorted(good, key=lambda one: -one[0])][: 2 * _WHOLE]


def _fit(seen: Any, steps: int) -> float | None:
    """How well a run fits in the second half of its first steps."""
    late = [value for step, value in (seen or {}).get("fits", ()) if steps / 2 <= step <= steps]
    return sum(late) / len(late) if late else None
