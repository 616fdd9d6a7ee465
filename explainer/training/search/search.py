"""The search: offers of all edits at all places of a training in doubt, screened by their first steps, tried whole."""

from __future__ import annotations

import ast
import itertools
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from explainer.training.directions import verdict
from explainer.training.finding import Attempt, Finding
from explainer.training.judge import FIT, gain, is_share, metrics, rises, share
from explainer.training.looks.fits import learned
from explainer.training.search import dtypes, evaluation, expressions, places, slips, unread, whole
from explainer.training.search.doubts import BELOW, Doubt
from explainer.training.search.offer import Offer
from explainer.training.trials import Trials, Tried, taught

_log = logging.getLogger(__name__)
RULE = "training-edit-found"
#: By how much the first steps must be better to be tried whole; by how much where no more need be looked at.
_BETTER, _CLEAR = 0.04, 0.48
#: How many of the best are tried at once; how many times so many beside one that holds, and how much better.
_WHOLE, _NEAR, _MORE = 2, 3, 0.1
#: What speaks against edits of the training where the evaluation alone shows something wrong.
_FARTHER = 0.5
#: By which share of its size a number must be better than without learning, to tell of learning.
_TOLD = 0.05
#: The share of a loss that is gone from which on what is measured is in question, no more what is trained.
_LEARNED = 0.9
#: Seeds on which an edit must be better, and by which share of the program's own number.
_SEEDS, _GAIN = 3, 0.25
#: Which part of what a share lacks an edit must bring: else the doubt stands.
_ROOM = 0.4
#: From which part on a share that was large already need rise by half as much only.
_FILLED = 0.75
#: How near two shares of the same answers add up to all of them.
_TURNED = 0.01
#: Up to which number of its own another rate may be what a training lacks.
_POOR = 0.4
#: The share of a run's steps that tells which edits are worth a whole one; at least and at most so many.
_SHARE, _LEAST, _LONGEST = 0.25, 64, 240
#: How many whole runs the last trials take: the best ones, and one of them with its control on each further seed.
_RESERVE = _WHOLE + 2 * (_SEEDS - 1)


def searched(watcher: Any, trials: Trials, found: Doubt) -> tuple[Finding, list[Tried]] | None:
    """The edit that repairs a training in doubt, as trials on several seeds showed; None where none is found."""
    sources = places.program_sources(watcher)
    found = replace(found, judging=tuple(sources) if trials.verdict(sources) is False else ())
    groups = _groups(watcher, [one.attempt() for one in ranked(watcher, found)], trials, found)
    for group in groups:
        held = _confirmed(trials.tried(_finding(found, group), seeds=1), found, trials)
        if held is not None:
            others = groups if held.attempt.names["makeshift"] else itertools.islice(groups, _NEAR)
            one = _surpassed(held, others, found, trials)
            return _finding(found, [one.attempt]), [one]
        if trials.left < _RESERVE * trials.lasted:
            break
    return None


def _confirmed(tried: Sequence[Tried], found: Doubt, trials: Trials) -> Tried | None:
    """The first of some attempts that went clearly better and does so on every seed."""
    clear = [one for one in tried if _clear(one, found)]
    for one in sorted(clear, key=lambda one: (-round(gain(one.compared), 1), one.attempt.names["cost"])):
        if trials.left > 0:
            again = trials.tried(_finding(found, [one.attempt]), seeds=_SEEDS)
            held = again and _clear(again[0], found) and again[0].seeds == again[0].of == _SEEDS
            if held and _contents(again[0], found) and _tells(again[0], trials):
                return again[0]
    return None


def _contents(one: Tried, found: Doubt) -> bool:
    """Whether the program is content with its result then, where it says that it is not without the edit."""
    return not found.judging or verdict(found.judging, one.printed[1]) is True


def _tells(one: Tried, trials: Trials) -> bool:
    """Whether the program's number still tells what was learned: it is worse where no step changes a weight."""
    asked = one.compared.metric != FIT and trials.left > 0
    return not asked or taught(one.compared, trials, one.attempt) > _TOLD


def _surpassed(held: Tried, others: Iterator[list[Attempt]], found: Doubt, trials: Trials) -> Tried:
    """What holds, or the one of the next attempts that holds too and does clearly better: it is nearer the cause."""
    for group in others:
        if trials.left < _RESERVE * trials.lasted:
            break
        tried = trials.tried(_finding(found, group), seeds=1)
        held = _confirmed([one for one in tried if _beyond(one, held)], found, trials) or held
    return held


def _beyond(one: Tried, held: Tried) -> bool:
    """Whether an edit does clearly better than another that holds; nearly as well is enough beside a makeshift."""
    pair, other = one.compared, held.compared
    least = -_MORE if held.attempt.names["makeshift"] > one.attempt.names["makeshift"] else _MORE
    return pair.metric == other.metric and _gained(other.after, pair.after, pair.rising) > least


def _clear(one: Tried, found: Doubt) -> bool:
    """Whether a run with an edit is so much better that the doubt is gone."""
    pair = one.compared
    if not (pair.better and one.whole and pair.metric) or (pair.metric == FIT and found.kind == "apart"):
        return False  # an edit of the evaluation may change what is compared there
    if found.number is not None and share(found.number, pair.after, pair.rising) <= _GAIN:
        return False  # only learns less of what is wrong
    if found.kind == "poor" and one.attempt.names.get("makeshift") and (found.number or 0) > _POOR:
        return False  # what has learned something learns more in some other way
    if pair.metric in BELOW and pair.after <= 0:
        return False  # no better than a constant still
    same = pair.loss_before == pair.loss_after and one.attempt.names.get("reason") != "end"
    if same and pair.rising and abs(pair.before + pair.after - 1) < _TURNED:
        return False  # the share of what is wrong, counted in place of what is right
    if is_share(pair.metric) and abs(pair.after) > 1 >= abs(pair.before):
        return False  # a share that is summed in place of averaged is no share
    if not (pair.rising and max(pair.after, pair.before) <= 1):
        return gain(pair) > _GAIN
    room = (pair.after - pair.before) / max(1 - pair.before, 1e-9)
    return room > _ROOM and (gain(pair) > _GAIN or (room > _FILLED and pair.after - pair.before > _GAIN / 2))


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
    loaders = set(places.loaders(watcher))
    offers = [one for one in _offers(watcher, found) if one.edits and not with_itself(one) and one.new not in loaders]
    offers.sort(key=lambda one: one.cost)
    seen = set()
    for one in offers:
        if one.edits not in seen:
            seen.add(one.edits)
            yield one


def with_itself(offer: Offer) -> bool:
    """Whether an edit would hold a value against itself, `truth - truth`: no measure, and always the best one."""
    around = offer.source.parent_of(offer.node)
    beside: list[ast.expr] = []
    if isinstance(around, ast.BinOp):
        beside = [around.left, around.right]
    elif isinstance(around, ast.Compare):
        beside = [around.left, *around.comparators]
    elif isinstance(around, ast.Call):
        beside = around.args
    own = any(one is offer.node for one in beside)
    return own and any(offer.source.text(one) == offer.new for one in beside if one is not offer.node)


def _offers(watcher: Any, found: Doubt) -> Iterator[Offer]:
    learned_all = found.kind in ("poor", "refused") and learned(watcher) > _LEARNED
    if found.kind != "apart" and not learned_all:
        return _of_training(watcher)
    trained = (replace(one, cost=one.cost + _FARTHER) for one in _of_training(watcher, learns=True))
    return itertools.chain(evaluation.offers(watcher), trained)


def _of_training(watcher: Any, learns: bool = False) -> Iterator[Offer]:
    """The offers for what trains; where it `learns` well, neither rates, layers nor signs are in doubt."""
    sources = places.program_sources(watcher)
    ran = [(source, one) for source, one in places.statements(watcher, places.LEARNING)
           if not (places.counts(one) or places.makes_data(source, one, sources)
                   or places.examines(watcher, source, one))]  # fmt: skip
    yield from _of_statements(watcher, ran, learns)
    yield from _of_rest(watcher, ran, sources)
    if not learns:
        yield from whole.learning_rates(watcher)
        yield from whole.constants(watcher)
        for source, call in places.calls(watcher):
            yield from whole.settings(source, call)


def _of_statements(watcher: Any, ran: Sequence[tuple[Any, Any]], learns: bool) -> Iterator[Offer]:
    """The offers for each statement that ran, and for the conditions and loops around them."""
    for source, statement in ran:
        if not learns:
            yield from whole.turned_sign(source, statement)
        if not places.behind_backward(watcher, source, statement):  # what comes then is no part of the loss
            yield from expressions.expressions(source, statement, watcher.sizes)
            yield from slips.slips(source, statement)
            yield from slips.shifted(source, statement)
            yield from whole.left_out(source, statement)
    for source, node in places.headers(ran):
        yield from slips.conditions(source, node)
        yield from expressions.expressions(source, node, watcher.sizes)
        yield from slips.slips(source, node)


def _of_rest(watcher: Any, ran: Sequence[tuple[Any, Any]], sources: Sequence[Any]) -> Iterator[Offer]:
    """The offers for statements together, for the loops, and for what comes before them."""
    by_source: dict[int, tuple[Any, list[Any]]] = {}
    for source, statement in ran:
        by_source.setdefault(id(source), (source, []))[1].append(statement)
    for source, statements in by_source.values():
        yield from expressions.names(source, statements)
        yield from unread.unread(source, statements)
        yield from slips.in_order(source, statements)
        yield from slips.together(source, statements)
        yield from slips.exchanged(source, statements)
    yield from expressions.flags(watcher)
    yield from whole.of_loops(watcher)
    for source, call in places.calls(watcher):
        yield from slips.weighing(source, call)
    for source in sources:
        yield from whole.beforehand(source)
        yield from dtypes.wider(source)
        yield from expressions.neighbours(source)
        yield from slips.kept(source)
        yield from slips.written_over(source)
        yield from slips.handed_out(source)
        yield from slips.another_name(source)
        yield from unread.entries(source)
        yield from slips.fitted(source)
        yield from slips.by_number(source)
        yield from whole.turned_loops(source)
        lines = {one.lineno for where, one in ran if where is source} | places.not_before(watcher, source)
        yield from whole.of_data(source, lines)
        yield from dtypes.fractions(source, lines)
        yield from slips.prepared(source, lines)


def _groups(watcher: Any, attempts: list[Attempt], trials: Trials, found: Doubt) -> Iterator[list[Attempt]]:
    """The attempts to be tried whole, some at a time, those whose first steps went better first."""
    steps = min(max(_LEAST, round(_SHARE * watcher.notes.steps)), _LONGEST)
    score = _score(trials.control(), steps, found)
    if score is None:  # nothing tells so early
        yield from (attempts[at : at + _WHOLE] for at in range(0, len(attempts), _WHOLE))
        return
    reserve = _RESERVE * trials.lasted
    good: list[tuple[float, Attempt]] = []
    others: list[tuple[float, Attempt]] = []
    for attempt, seen in trials.begun(attempts, steps):
        value = score(seen) if seen else None
        _log.debug("%s %s", value, attempt.names)
        if value is not None and value > _BETTER:
            good = sorted([*good, (value, attempt)], key=lambda one: -round(one[0], 1))  # of equals the likelier
        elif seen:  # where its first steps tell nothing the end may
            others.append((value or 0.0, attempt))
        if len(good) >= _WHOLE and good[_WHOLE - 1][0] > _CLEAR:
            yield [one for _, one in good[:_WHOLE]]
            del good[:_WHOLE]
        if trials.left < reserve:
            break
    best = [attempt for _, attempt in good][: 2 * _WHOLE]
    rest = [attempt for _, attempt in sorted(others, key=lambda one: -one[0])]
    for row in (best, rest):  # what its first steps do not show the end may show, while the budget lasts
        yield from (row[at : at + _WHOLE] for at in range(0, len(row), _WHOLE))


def _score(control: Any, steps: int, found: Doubt) -> Callable[[Any], float | None] | None:
    """By how much the first steps of a run are better than the control's: by its fit, else by the number it prints."""
    if control is None or found.kind == "apart":
        return None
    own = _fit(control, steps) if found.training is not None else None
    if own is not None:
        return lambda seen: None if (fit := _fit(seen, steps)) is None else fit - own
    early, known = _early(control, steps), control.get("directions", {})

    def gained(seen: Any) -> float | None:
        after, shared = _early(seen, steps), {name: bool(rises(name, known)) for name in early}
        return min([_gained(early[one], after[one], up) for one, up in shared.items() if one in after], default=None)

    return gained if early else None


def _early(seen: Any, steps: int) -> dict[str, float]:
    """The program's own numbers behind its first steps, but for losses and what came before any step."""
    found = metrics("".join(text for step, text in seen["early"] if 0 < step <= steps), seen.get("directions", {}))
    return {name: value for name, value in found.items() if not name.endswith("loss")}


def _gained(before: float, after: float, up: bool) -> float:
    """By how much a number is better: of a share in points, of others in parts of its size."""
    of_one = up and 0 <= before <= 1 and 0 <= after <= 1
    return after - before if of_one else share(before, after, up)


def _fit(seen: Any, steps: int) -> float | None:
    """How well a run fits in the second half of its first steps."""
    late = [value for step, value in (seen or {}).get("fits", ()) if steps / 2 <= step <= steps]
    return sum(late) / len(late) if late else None
