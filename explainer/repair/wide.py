"""The search: what generators and atoms offer, sieved where the program failed, the best of it run from the start."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.changes import cancels, only_adapts
from explainer.edits.evidence import Evidence
from explainer.edits.generators.chains import followed
from explainer.edits.generators.driver import found_in
from explainer.repair.agreement import forgets
from explainer.repair.sense import lacks_name
from explainer.repair.siblings import together
from explainer.repair.space import Proposal, space
from explainer.replay.sieve import MOVED, OTHER, PASSES, SAME, UNKNOWN

#: What the surest generators' offers cost, and those of each further tier.
GENERATED, TIER = 0.4, 0.4
#: How many of their offers are run before anything is sieved.
FIRST = 10
#: How many of what the atoms offer are sieved, and how many proposals are run.
SIEVED, RUNS = 900, 24
#: How many of them that get past the failing call are enough; how many runs there are at least where one holds.
PAST, ENOUGH = 14, 4
#: How much less likely than what has passed a proposal may be to be run all the same.
MARGIN = 0.8
#: What a proposal costs more that fails elsewhere then, or that the sieve could not tell; less where it gets past.
_BEHIND = {PASSES: -1.2, UNKNOWN: 0.6, MOVED: 1.0, OTHER: 2.2}
#: What the crashed run cannot tell: it has changed the objects already whose changes are to come in another order, and
#: has the graphs of steps that are over.
UNSIEVED = ("order", "copied", "block", "detach", "severed", "unrecorded", "dropped", "level")
#: What an edit costs more that is made at sibling statements too, and how many such are run.
_BESIDE, SIBLINGS = 0.2, 8
#: How many of one kind at one line are run, of those that get past the failing call, and of a kind that is not sieved:
#: more where only those can help.
_ALIKE, _PAST, _UNTOLD = 4, 8, 6
UNTOLD = {"autograd": 16, "inplace": 16, "amp": 16}
#: A number that is worked out: smaller ones are dimensions and counts as well.
_NUMBER = re.compile(r"(?<![\w.])(?:[4-9]|\d\d+)(?![\w.])")
#: How many more repairs of two edits are run once one holds.
BEYOND = 6
#: How many of the generators' offers come before those of the atoms where a second edit is looked for, and of these.
SECOND = 8


def generated(evidence: Evidence, family: str) -> Iterator[Proposal]:
    """What the generators of a family offer, the surest first."""
    for one in found_in(evidence, family):
        if not cancels(one) and not lacks_name(one, evidence):
            yield Proposal(one, GENERATED + TIER * one.tier)


def surely(checker: Any, offered: Iterable[Proposal], progress: Callable[[str], None]) -> None:
    """Run the first few of what is offered as they are; the checker keeps survivors."""
    if checker.control() is not None and checker.left > 0:
        _run(checker, _noted(checker, itertools.islice(offered, FIRST)), progress, 0, partial(_fits_anyway, checker))


def widely(
    checker: Any,
    evidence: Evidence,
    progress: Callable[[str], None],
    family: str = "",
    offered: Iterable[Proposal] = (),
    thorough: bool = False,
) -> None:
    """Run what the atoms (and else) offer and is likely, all of it where it is to be `thorough`."""
    if checker.control() is None or checker.left <= 0:
        return
    atoms = (one for one in space(evidence, family=family) if not cancels(one.candidate))
    every: dict[Any, Proposal] = {}
    for one in itertools.chain(offered, itertools.islice(atoms, SIEVED)):  # what both offer is the generators'
        every.setdefault(one.candidate.edits, one)
    fates = _sieved(checker, evidence, [one for edits, one in every.items() if edits not in checker.tried])
    queue = _queue([*fates, *_together(fates, evidence)], UNTOLD.get(family, _UNTOLD))
    odd = lambda one: _fits_anyway(checker, one) or forgets(one, evidence)  # noqa: E731
    _run(checker, queue, progress, RUNS if thorough else ENOUGH, odd)


def pairs(checker: Any, progress: Callable[[str], None], family: str) -> None:
    """Run repairs of two edits: behind each that moved the failure on, what is offered then.

    An excerpt leaves lines out, which a second edit would not know of.
    """
    if checker.excerpt is not None:
        return
    last = math.inf
    for tried, (_, _, judgement) in enumerate(checker.runs(followed(checker, family, _second), progress), 1):
        if judgement is not None:
            last = min(last, tried + BEYOND)
        if tried >= last:
            break


def _second(evidence: Evidence, family: str) -> Iterator[Candidate]:
    """What may be the second of two edits: the likeliest that the generators and the atoms offer, then the rest."""
    found = found_in(evidence, family)
    yield from itertools.islice(found, SECOND)
    yield from (one.candidate for one in itertools.islice(space(evidence, family=family), SECOND))
    yield from found


def _noted(checker: Any, proposals: Iterable[Proposal]) -> list[Proposal]:
    found = list(proposals)
    for one in found if checker.trace is not None else ():
        checker.trace.made(one.candidate)
    return found


def _sieved(checker: Any, evidence: Evidence, proposals: Sequence[Proposal]) -> list[tuple[Proposal, str]]:
    """Proposals with how they fare where the program failed; a layer built anew there says nothing of devices."""
    told = sorted(
        (one for one in proposals if one.atom not in UNSIEVED and not evidence.apart), key=lambda one: one.cost
    )
    known = checker.sieved([one.candidate for one in told], PAST) if told else []
    rows = zip(told, known or [UNKNOWN] * len(told), strict=False)
    fates = [(one, fate) for one, fate in rows if fate is not None]
    fates += [(one, UNKNOWN) for one in proposals if one.atom in UNSIEVED or evidence.apart]
    _noted(checker, (one for one, _ in fates))
    for one, fate in fates if checker.trace is not None else ():
        if fate == SAME:
            checker.trace.filtered(one.candidate, "why_sieved")
    return fates


def _together(fates: Sequence[tuple[Proposal, str]], evidence: Evidence) -> Iterator[tuple[Proposal, str]]:
    """What got the failure further on, made at sibling statements too."""
    moved = [one for one, fate in fates if fate == MOVED]
    made = ((one, together(one.candidate, evidence)) for one in moved)
    found = (replace(one, candidate=both, cost=one.cost + _BESIDE) for one, both in made if both is not None)
    return ((one, PASSES) for one in itertools.islice(found, SIBLINGS))


def _queue(fates: Iterable[tuple[Proposal, str]], untold: int = _UNTOLD) -> list[Proposal]:
    """What is worth a whole run, the best first, with a few of one kind at one line."""
    known = ((one, fate) for one, fate in fates if fate in _BEHIND)
    kept = [replace(one, cost=one.cost + _BEHIND[fate], past=fate == PASSES) for one, fate in known]
    kept.sort(key=lambda one: one.cost)
    return list(_spread(kept, untold))[:RUNS]


def _spread(ranked: Iterable[Proposal], untold: int) -> Iterator[Proposal]:
    met: Counter[Any] = Counter()
    for one in ranked:
        key = (_line(one.candidate), one.atom or one.candidate.kind)
        met[key] += 1
        met[one.atom] += one.atom in UNSIEVED
        if met[key] <= (_PAST if one.past else _ALIKE) and met[one.atom] <= untold:
            yield one


def _run(
    checker: Any,
    queue: Sequence[Proposal],
    progress: Callable[[str], None],
    least: int,
    odd: Callable[[Candidate], bool],
) -> None:
    """Run the `least` first of a queue, and as much more as is about as likely as the best without a doubt.

    What is `odd` settles nothing. Of what is less likely, the first of each line that gets past the call is run, too.
    """
    costs = {one.candidate.edits: one.cost for one in queue}
    settled = [math.inf]
    for candidate, _, judgement in checker.runs(_worth_a_run(queue, least, settled), progress):
        if judgement is not None and not judgement.doubts and not odd(candidate):
            settled.append(costs[candidate.edits])


def _worth_a_run(queue: Sequence[Proposal], least: int, settled: Sequence[float]) -> Iterator[Candidate]:
    """What of a queue is run, as long as it is asked for; `settled`: what those cost that have passed so far."""
    seen: set[tuple[str, int]] = set()
    for at, one in enumerate(queue):
        line = _line(one.candidate)
        if at < least or one.cost <= min(settled) + MARGIN or (one.past and line not in seen):
            seen.add(line)
            yield one.candidate


def _fits_anyway(checker: Any, candidate: Candidate) -> bool:
    """Whether an edit makes a number fit, or only brings a value to size, or an index that is too large makes smaller.

    One that is right may come later.
    """
    frame = checker.scene.crash.user_frame
    at = (frame.file, frame.line) if frame is not None and "out of" in checker.scene.crash.message else None
    texts = ((edit.before or "", edit.after or "") for edit in candidate.edits)
    computed = any(set(_NUMBER.findall(new)) - set(_NUMBER.findall(old)) for old, new in texts)
    return candidate.literal or computed or only_adapts(candidate) or _line(candidate) == at


def _line(candidate: Candidate) -> tuple[str, int]:
    return candidate.culprit.file, candidate.culprit.line
