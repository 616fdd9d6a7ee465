"""The wide search: what the atoms offer, sieved where the program failed, the best of it run from the start."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.changes import cancels
from explainer.edits.evidence import Evidence
from explainer.frozen import frozen
from explainer.repair.agreement import against
from explainer.repair.space import Proposal, space
from explainer.replay.outcomes import further, other_input, passes, reshaped
from explainer.replay.program import Run
from explainer.replay.sieve import OTHER, PASSES, UNKNOWN

#: How many proposals are sieved where nothing has been found and where something has, and how many are run then.
SIEVED, FEWER, RUNS, MORE = 400, 100, 26, 5
#: How many of them that get past the failing call are enough; how many runs there are at least where one holds.
PAST, ENOUGH = 14, 4
#: How much less likely than what has passed a proposal may be to be run all the same.
MARGIN = 0.6
#: What has passed and has this cost, or more, counts as nothing.
UNLIKELY = 2.4
#: What a proposal costs more that the sieve could not tell, or that fails elsewhere then.
_BEHIND = {PASSES: 0.0, UNKNOWN: 0.9, OTHER: 2.2}


@frozen
class Survivor:
    """A candidate with which the program runs, what speaks against it, and how many parameters it gave another shape."""

    candidate: Candidate
    run: Run
    cost: float
    reshaped: int
    atom: str = ""

    @property
    def line(self) -> tuple[str, int]:
        """The line that it takes for the cause."""
        return self.candidate.culprit.file, self.candidate.culprit.line


def weighed(candidate: Candidate, run: Run, control: Run, evidence: Evidence, cost: float, atom: str = "") -> Survivor:
    """A survivor with what its run tells against it: warnings, another input, parameters of other shapes."""
    warned = len(set(run.answer.get("warnings", ())) - set(control.answer.get("warnings", ())))
    shapes = reshaped(run, control)
    worth = cost + 1.5 * min(warned, 1) + 1.5 * other_input(run, control) + _of_shapes(shapes)
    worth += against(candidate, evidence, shapes)
    worth += 0.5 * min(int(run.answer.get("ungraded") or 0), 2)
    return Survivor(candidate, run, worth, shapes, atom)


def _of_shapes(count: int) -> float:
    """What it costs that so many parameters have another shape: those of one layer are an edit's own business."""
    return 0.0 if not count else 0.4 if count <= 2 else 1.0 + 0.15 * min(count, 10)


def widely(
    checker: Any, evidence: Evidence, known: Sequence[Survivor], more: Iterable[Proposal], progress: Callable[[str], None]
) -> tuple[list[Survivor], bool]:
    """The survivors among what the atoms offer, and whether all that was worth a run had one.

    Where something has passed already, only what is at least as likely, and gets past the failing call, is run.
    """
    control = checker.control()
    if control is None or checker.left <= 0:
        return [], False
    bar = min((one.cost for one in known if one.cost < UNLIKELY), default=None)
    offered = sorted([*space(evidence), *(more if bar is None else ())], key=lambda one: one.cost)
    proposals = [one for one in offered if not cancels(one.candidate)]
    if bar is not None:
        proposals = [one for one in proposals if one.cost < bar + MARGIN]
    queue = _queue(checker, proposals[: SIEVED if bar is None else FEWER], bar)
    by_edits = {one.candidate.edits: one for one in queue}
    found: list[Survivor] = []
    tried = 0
    for candidate, run in checker.runs((one.candidate for one in queue), progress):
        tried += 1
        own = by_edits[candidate.edits]
        if not passes(run, control):
            if further(candidate, run, control):
                checker.moved.append(candidate)
        else:
            found.append(weighed(candidate, run, control, evidence, own.cost, own.atom))
        if found and tried >= ENOUGH and (tried >= len(queue) or _worse(queue[tried], found)):
            return found, True
    return found, tried >= len(queue)


def _worse(proposal: Proposal, found: Sequence[Survivor]) -> bool:
    """Whether a proposal, and all behind it, is too unlikely to matter beside what has been found."""
    return proposal.cost > min(one.cost for one in found) + MARGIN


def _queue(checker: Any, proposals: Sequence[Proposal], bar: float | None) -> list[Proposal]:
    """What is worth a whole run, the best first."""
    told = checker.sieved([one.candidate for one in proposals], ENOUGH if bar is not None else PAST)
    fates = told or [UNKNOWN] * len(proposals)
    kept = [replace(one, cost=one.cost + _BEHIND[fate])
            for one, fate in zip(proposals, fates, strict=False) if fate in _BEHIND]  # fmt: skip
    if bar is not None:
        kept = [one for one in kept if one.cost < bar + MARGIN]
    kept.sort(key=lambda one: one.cost)
    return list(_spread(kept))[: RUNS if bar is None else MORE]


def _spread(ranked: Iterable[Proposal]) -> Iterator[Proposal]:
    """Proposals with at most a few of one kind at one place, for those behind them to have their turn."""
    met: dict[Any, int] = {}
    for one in ranked:
        span = one.candidate.culprit
        key = (span.file, span.line, one.atom or one.candidate.kind)
        met[key] = met.get(key, 0) + 1
        if met[key] <= 4:
            yield one
