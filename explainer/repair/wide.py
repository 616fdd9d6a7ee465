"""The wide search: what the atoms offer, sieved where the program failed, the best of it run from the start."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.changes import cancels
from explainer.edits.evidence import Evidence
from explainer.repair.siblings import together
from explainer.repair.space import Proposal, space
from explainer.replay.sieve import MOVED, OTHER, PASSES, SAME, UNKNOWN

#: How many proposals are sieved, and how many are run.
SIEVED, RUNS = 900, 20
#: How many of them that get past the failing call are enough; how many runs there are at least where one holds.
PAST, ENOUGH = 14, 4
#: How much less likely than what has passed a proposal may be to be run all the same.
MARGIN = 0.8
#: What a proposal costs more that the sieve could not tell, or that fails elsewhere then.
_BEHIND = {PASSES: 0.0, UNKNOWN: 0.6, MOVED: 1.0, OTHER: 2.2}
#: What the crashed run cannot tell: it has changed the objects already whose changes are to come in another order.
UNSIEVED = ("order", "copied", "block")
#: What an edit costs more that is made at sibling statements too, and how many such are run.
_BESIDE, SIBLINGS = 0.4, 8
#: How many of one kind at one line are run.
_ALIKE = 4


def widely(
    checker: Any, evidence: Evidence, progress: Callable[[str], None], family: str = "", thorough: bool = False
) -> None:
    """Run what the atoms offer and is likely, all of it where it is to be `thorough`; the checker keeps survivors."""
    if checker.control() is None or checker.left <= 0:
        return
    fates = _sieved(checker, evidence, _proposals(evidence, family))
    _run(checker, _queue([*fates, *_together(fates, evidence)]), progress, thorough)


def _proposals(evidence: Evidence, family: str) -> list[Proposal]:
    return [one for one in space(evidence, family=family) if not cancels(one.candidate)][:SIEVED]


def _sieved(checker: Any, evidence: Evidence, proposals: Sequence[Proposal]) -> list[tuple[Proposal, str]]:
    """Proposals with how they fare where the program failed; a layer built anew there says nothing of devices."""
    told = [one for one in proposals if one.atom not in UNSIEVED and not evidence.apart]
    known = checker.sieved([one.candidate for one in told], PAST) if told else []
    fates = list(zip(told, known or [UNKNOWN] * len(told), strict=False))
    fates += [(one, UNKNOWN) for one in proposals if one.atom in UNSIEVED or evidence.apart]
    for one, fate in fates if checker.trace is not None else ():
        checker.trace.made(one.candidate)
        if fate == SAME:
            checker.trace.filtered(one.candidate, "why_sieved")
    return fates


def _together(fates: Sequence[tuple[Proposal, str]], evidence: Evidence) -> Iterator[tuple[Proposal, str]]:
    """What got the failure further on, made at sibling statements too."""
    moved = [one for one, fate in fates if fate == MOVED and one.atom not in UNSIEVED]
    made = ((one, together(one.candidate, evidence)) for one in moved)
    found = (replace(one, candidate=both, cost=one.cost + _BESIDE) for one, both in made if both is not None)
    return ((one, PASSES) for one in itertools.islice(found, SIBLINGS))


def _queue(fates: Iterable[tuple[Proposal, str]]) -> list[Proposal]:
    """What is worth a whole run, the best first, with a few of one kind at one line."""
    kept = [replace(one, cost=one.cost + _BEHIND[fate]) for one, fate in fates if fate in _BEHIND]
    kept.sort(key=lambda one: one.cost)
    return list(_spread(kept))[:RUNS]


def _spread(ranked: Iterable[Proposal]) -> Iterator[Proposal]:
    met: Counter[Any] = Counter()
    for one in ranked:
        key = (_line(one.candidate), one.atom or one.candidate.kind)
        met[key] += 1
        if met[key] <= _ALIKE:
            yield one


def _run(checker: Any, queue: Sequence[Proposal], progress: Callable[[str], None], thorough: bool) -> None:
    """Run a queue, or as much of it as is about as likely as the best that passes."""
    costs = {one.candidate.edits: one.cost for one in queue}
    best = math.inf
    for tried, (candidate, _, judgement) in enumerate(checker.runs((one.candidate for one in queue), progress), 1):
        if judgement is not None:
            best = min(best, costs[candidate.edits])
        if not thorough and tried >= ENOUGH and (tried >= len(queue) or queue[tried].cost > best + MARGIN):
            break


def _line(candidate: Candidate) -> tuple[str, int]:
    return candidate.culprit.file, candidate.culprit.line
