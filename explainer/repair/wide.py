"""The wide search: what the atoms offer, sieved where the program failed, the best of it run from the start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.changes import cancels
from explainer.edits.evidence import Evidence
from explainer.frozen import frozen
from explainer.oracle.judge import Judgement
from explainer.repair.agreement import against, came_along
from explainer.repair.space import Proposal, space
from explainer.replay.outcomes import other_input
from explainer.replay.program import Run
from explainer.replay.sieve import MOVED, OTHER, PASSES, SAME, UNKNOWN

#: How many proposals are sieved, and how many are run.
SIEVED, RUNS = 400, 40
#: How many of them that get past the failing call are enough; how many runs there are at least where one holds.
PAST, ENOUGH = 14, 4
#: How much less likely than what has passed a proposal may be to be run all the same, or to leave the cause open.
MARGIN, OPEN = 0.8, 0.9
#: What a proposal costs more that the sieve could not tell, or that fails elsewhere then.
_BEHIND = {PASSES: 0.0, UNKNOWN: 0.6, MOVED: 1.0, OTHER: 2.2}
#: How many of one kind at one line are run; how many parameters a layer has.
_ALIKE, _LAYER = 4, 2
#: What it costs that the oracle doubts it.
_DOUBTED = 1.0
Line = tuple[str, int]


@frozen
class Survivor:
    """A candidate with which the program runs, what speaks against it, how many parameters are no more as before.

    `bends`: it makes the whole model fit a value that came along in another shape than the model was built for.
    """

    candidate: Candidate
    run: Run
    judgement: Judgement
    cost: float
    reshaped: int
    bends: bool = False

    @property
    def line(self) -> Line:
        """The line that it takes for the cause."""
        return _line(self.candidate)


@frozen
class Found:
    """The survivors, the lines at which an edit gets past the failing call without having been run, with its cost."""

    survivors: tuple[Survivor, ...] = ()
    rivals: tuple[tuple[Line, float], ...] = ()


def weighed(
    candidate: Candidate, run: Run, judgement: Judgement, control: Run, evidence: Evidence, cost: float
) -> Survivor:
    """A survivor with what its run tells against it: warnings, another input, parameters that are gone or reshaped."""
    warned = len(set(run.answer.get("warnings", ())) - set(control.answer.get("warnings", ())))
    lost = _lost(run, control)
    worth = cost + 1.5 * min(warned, 1) + 1.5 * (candidate.literal and other_input(run, control)) + _of_lost(lost)
    worth += _DOUBTED * bool(judgement.doubts)
    worth += against(candidate, evidence, lost) + 0.5 * min(int(run.answer.get("ungraded") or 0), 2)
    bends = candidate.literal and lost > _LAYER and came_along(evidence)
    return Survivor(candidate, run, judgement, worth, lost, bends)


def _lost(run: Run, control: Run) -> int:
    """How many parameters of the program there are no more: given another shape, or left out; new ones do not count."""
    before, after = (Counter(map(tuple, one.answer.get("parameters") or [])) for one in (control, run))
    return sum((before - after).values())


def _of_lost(count: int) -> float:
    """What it costs that so many parameters are not as before: those of one layer are an edit's own business."""
    return 0.0 if not count else 0.4 if count <= _LAYER else 1.0 + 0.15 * min(count, 10)


def widely(checker: Any, evidence: Evidence, progress: Callable[[str], None]) -> Found:
    """What survives among what the atoms offer."""
    control = checker.control()
    if control is None or checker.left <= 0:
        return Found()
    fates = _sieved(checker, _proposals(evidence))
    queue = _queue(fates)
    found, tried = _run(checker, queue, control, evidence, progress)
    ran = {one.candidate.edits for one in queue[:tried]}
    rivals = {
        (_line(one.candidate), one.cost) for one, fate in fates if fate == PASSES and one.candidate.edits not in ran
    }
    return Found(tuple(found), tuple(rivals))


def _proposals(evidence: Evidence) -> list[Proposal]:
    return [one for one in space(evidence) if not cancels(one.candidate)][:SIEVED]


def _sieved(checker: Any, proposals: Sequence[Proposal]) -> list[tuple[Proposal, str]]:
    """Proposals with how they fare where the program failed."""
    told = checker.sieved([one.candidate for one in proposals], PAST)
    fates = list(zip(proposals, told or [UNKNOWN] * len(proposals), strict=False))
    for one, fate in fates if checker.trace is not None else ():
        checker.trace.made(one.candidate)
        if fate == SAME:
            checker.trace.filtered(one.candidate, "why_sieved")
    return fates


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


def _run(
    checker: Any, queue: Sequence[Proposal], control: Run, evidence: Evidence, progress: Callable[[str], None]
) -> tuple[list[Survivor], int]:
    """The survivors of a queue, and how many of it were run: all, or until the next is too unlikely beside them."""
    by_edits = {one.candidate.edits: one for one in queue}
    found: list[Survivor] = []
    tried = 0
    for candidate, run, judgement in checker.runs((one.candidate for one in queue), progress):
        tried += 1
        if judgement is not None:
            found.append(weighed(candidate, run, judgement, control, evidence, by_edits[candidate.edits].cost))
        best = min((one.cost for one in found), default=None)
        if best is not None and tried >= ENOUGH and (tried >= len(queue) or queue[tried].cost > best + MARGIN):
            break
    return found, tried


def _line(candidate: Candidate) -> Line:
    return candidate.culprit.file, candidate.culprit.line
