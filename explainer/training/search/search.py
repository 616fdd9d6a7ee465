"""The search: offers of all edits at all places of a training in doubt, screened by their first steps, tried whole."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from explainer.training.finding import Attempt, Finding
from explainer.training.judge import FIT, gain, metrics, rises, share
from explainer.training.search import evaluation, expressions, places, whole
from explainer.training.search.doubts import Doubt
from explainer.training.search.offer import Offer
from explainer.training.trials import Trials, Tried

_log = logging.getLogger(__name__)
RULE = "training-edit-found"
#: By how much the first steps must be better to be tried whole; by how much where no more need be looked at.
_BETTER, _CLEAR = 0.04, 0.48
#: How many of the best are tried at once; how many times so many beside one that holds, and how much better.
_WHOLE, _NEAR, _MORE = 2, 3, 0.1
#: What speaks against edits of the training where the evaluation alone shows something wrong.
_FARTHER = 0.5
#: Seeds on which an edit must be better, and by which share of the program's own number.
_SEEDS, _GAIN = 3, 0.25
#: Which part of what a share lacks an edit must bring: else the doubt stands.
_ROOM = 0.4
#: The share of a run's steps that tells which edits are worth a whole one; at least and at most so many.
_SHARE, _LEAST, _LONGEST = 0.25, 64, 240
#: How many whole runs the last trials take: the best ones, and one of them with its control on each further seed.
_RESERVE = _WHOLE + 2 * (_SEEDS - 1)


def searched(watcher: Any, trials: Trials, found: Doubt) -> tuple[Finding, list[Tried]] | None:
    """The edit that repairs a training in doubt, as trials on several seeds showed; None where none is found."""
    groups = _groups(watcher, [one.attempt() for one in ranked(watcher, found)], trials, found)
    for group in groups:
        tried = trials.tried(_finding(found, group), seeds=_SEEDS)
        if tried and _holds(tried[0], found):
            one = _surpassed(tried[0], itertools.islice(groups, _NEAR), found, trials)
            return _finding(found, [one.attempt]), [one]
        if trials.left < _RESERVE * trials.lasted:
            break
    return None


def _surpassed(held: Tried, others: Iterator[list[Attempt]], found: Doubt, trials: Trials) -> Tried:
    """What holds, or the one of the next attempts that holds too and does clearly better: it is nearer the cause."""
    for group in others:
        if trials.left < _RESERVE * trials.lasted:
            break
        for one in trials.tried(_finding(found, group), seeds=1)[:1]:
            pair, metric = one.compared, held.compared.metric
            if pair.better and pair.metric == metric and _gained(held.compared.after, pair.after, metric) > _MORE:
                again = trials.tried(_finding(found, [one.attempt]), seeds=_SEEDS)
                held = again[0] if again and _holds(again[0], found) else held
    return held


def _holds(one: Tried, found: Doubt) -> bool:
    pair = one.compared
    if pair.metric == FIT and found.kind == "apart":
        return False  # an edit of the evaluation may change what is compared there
    better = pair.better and one.whole and one.seeds == one.of == _SEEDS
    of_one = rises(pair.metric) and max(pair.after, pair.before) <= 1
    if of_one and pair.after - pair.before < _ROOM * (1 - pair.before):
        return False  # still as poor, by another reason
    if found.number is not None and share(found.number, pair.after, rises(pair.metric)) <= _GAIN:
        return False  # only learns less of what is wrong
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
    if found.kind != "apart":
        return _of_training(watcher)
    trained = (replace(one, cost=one.cost + _FARTHER) for one in _of_training(watcher, learns=True))
    return itertools.chain(evaluation.offers(watcher), trained)


def _of_training(watcher: Any, learns: bool = False) -> Iterator[Offer]:
    """The offers for what trains; where it `learns` well, neither rates, layers nor signs are in doubt."""
    by_source: dict[int, tuple[Any, list[Any]]] = {}
    for source, statement in places.statements(watcher, places.LEARNING):
        if places.makes_data(source, statement) or places.examines(watcher, source, statement):
            continue
        if not learns:
            yield from whole.turned_sign(source, statement)
        if not places.behind_backward(watcher, source, statement):  # what comes then is no part of the loss
            yield from expressions.expressions(source, statement, watcher.sizes)
            yield from whole.left_out(source, statement)
        by_source.setdefault(id(source), (source, []))[1].append(statement)
    for source, ran in by_source.values():
        yield from expressions.names(source, ran)
    yield from expressions.flags(watcher)
    yield from whole.of_loops(watcher)
    if not learns:
        yield from whole.learning_rates(watcher)
        yield from whole.constants(watcher)
        for source, call in places.calls(watcher):
            yield from whole.settings(source, call)
    for source in places.program_sources(watcher):
        yield from whole.beforehand(source)
        yield from expressions.neighbours(source)
        yield from whole.turned_loops(source)
        yield from whole.of_data(
            source, {one.lineno for where, ran in by_source.values() if where is source for one in ran}
        )


def _groups(watcher: Any, attempts: list[Attempt], trials: Trials, found: Doubt) -> Iterator[list[Attempt]]:
    """The attempts to be tried whole, some at a time, those whose first steps went better first."""
    steps = min(max(_LEAST, round(_SHARE * watcher.notes.steps)), _LONGEST)
    score = _score(trials.control(), steps, found)
    if score is None:  # nothing tells so early
        yield from (attempts[at : at + _WHOLE] for at in range(0, len(attempts), _WHOLE))
        return
    reserve = _RESERVE * trials.lasted
    good: list[tuple[float, Attempt]] = []
    for attempt, seen in trials.begun(attempts, steps):
        value = score(seen) if seen else None
        _log.debug("%s %s", value, attempt.names)
        if value is not None and value > _BETTER:
            good = sorted([*good, (value, attempt)], key=lambda one: -one[0])
        if len(good) >= _WHOLE and good[_WHOLE - 1][0] > _CLEAR:
            yield [one for _, one in good[:_WHOLE]]
            del good[:_WHOLE]
        if trials.left < reserve:
            break
    best = [attempt for _, attempt in good][: 2 * _WHOLE]
    yield from (best[at : at + _WHOLE] for at in range(0, len(best), _WHOLE))


def _score(control: Any, steps: int, found: Doubt) -> Callable[[Any], float | None] | None:
    """By how much the first steps of a run are better than the control's: by its fit, else by the number it prints."""
    if control is None or found.kind == "apart":
        return None
    own = _fit(control, steps) if found.training is not None else None
    if own is not None:
        return lambda seen: None if (fit := _fit(seen, steps)) is None else fit - own
    early = _early(control, steps)

    def gained(seen: Any) -> float | None:
        after = _early(seen, steps)
        return min([_gained(early[name], after[name], name) for name in early if name in after], default=None)

    return gained if early else None


def _early(seen: Any, steps: int) -> dict[str, float]:
    """The program's own numbers behind its first steps, but for losses."""
    known = metrics("".join(text for step, text in seen["early"] if step <= steps))
    return {name: value for name, value in known.items() if not name.endswith("loss")}


def _gained(before: float, after: float, name: str) -> float:
    """By how much a number is better: of a share in points, of others in parts of its size."""
    of_one = rises(name) and 0 <= before <= 1 and 0 <= after <= 1
    return after - before if of_one else share(before, after, rises(name))


def _fit(seen: Any, steps: int) -> float | None:
    """How well a run fits in the second half of its first steps."""
    late = [value for step, value in (seen or {}).get("fits", ()) if steps / 2 <= step <= steps]
    return sum(late) / len(late) if late else None
