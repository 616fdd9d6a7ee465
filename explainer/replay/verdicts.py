"""Verdicts on what rules offer: tier by tier, repairs nearer to the cause before them."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import groupby
from typing import Any

from explainer.edits import words
from explainer.edits.candidate import Candidate
from explainer.edits.changes import cancels
from explainer.edits.generators.driver import recorded
from explainer.edits.generators.relocate import origins
from explainer.oracle.judge import Judgement, judged
from explainer.replay.confine import sandbox
from explainer.replay.outcomes import WHOLE_CALLS, late, passes, ties, told_apart
from explainer.replay.program import Run
from explainer.replay.programs import ABREAST, Checker, checker, end
from explainer.replay.rivals import with_ties
from explainer.replay.trial import LATE, Verdict

#: How many survivors of a tier are enough.
ENOUGH = 4
#: How many more candidates of a tier are run once one holds; within the limits of a replay.
BEYOND, _BEYOND = 6, 2
_NOT_RUN = "none"


def verdicts(scene: Any, candidates: Iterable[Candidate], progress: Callable[[str], None]) -> list[Verdict]:
    """Verdicts on what rules offer, by the crash's checker."""
    return Verdicts(checker(scene)).of(candidates, progress)


class Verdicts:
    """The verdicts on what rules offer for a crash."""

    def __init__(self, checker: Checker):
        self.checker = checker

    def _with_origins(self, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
        """What rules propose, after the same repair nearer to its cause: a better line to edit, if it holds.

        That of a rule's first fix, and what is certain, goes before its fixes as they are, those of the others behind.
        """
        offered = list(candidates)
        evidence = recorded(self.checker.scene)
        moved = [(candidate.fix, one) for candidate in offered for one in _guarded(evidence, candidate)]
        sure = [one for _, one in moved if one.tier < 0]
        better = [one for fix, one in moved if fix == offered[0].fix or one in sure]
        others = [one for _, one in moved if one not in better]
        lone = [one for one in offered if one.kind in WHOLE_CALLS]
        yield from dict.fromkeys([*sure, *lone, *better])
        rest = [one for one in (*offered, *others) if one not in lone]
        yield from (dataclasses.replace(one, tier=int(bool(better))) for one in dict.fromkeys(rest))

    def of(self, candidates: Iterable[Candidate], progress: Callable[[str], None]) -> list[Verdict]:
        """Verdicts on candidates; tiers after the first with a survivor that brings no new warnings are left alone."""
        candidates = iter(candidates)
        first = next(candidates, None)
        if first is None:
            return []
        candidates = itertools.chain([first], candidates)
        passed: list[Verdict] = []
        found: list[Verdict] = []
        try:
            control = self.checker.control()
            if control is None:
                return [Verdict(one, False, "", _NOT_RUN) for one in candidates]
            if first.fix is not None:
                candidates = self._with_origins(candidates)
            plausible = self._plausible(candidates)
            for _, tier in groupby(plausible, key=lambda one: one.tier):
                held, failed, quiet = self._tier(tier, control, progress)
                passed, found = ([*held, *passed] if quiet else [*passed, *held]), found + failed
                if quiet or self.checker.left <= 0:
                    break
        except KeyboardInterrupt:
            self.checker.scene.interrupted = True
        self.checker.end_ahead()
        return sorted(passed, key=lambda one: bool(one.judgement.doubts)) + found

    def _plausible(self, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
        """The candidates that are worth a run."""
        for one in candidates:
            keep = not cancels(one)
            if self.checker.trace is not None:
                self.checker.trace.made(one) if keep else self.checker.trace.filtered(one, "why_cancels")
            if keep:
                yield one

    def _tier(self, tier: Iterable[Candidate], control: Run, progress: Callable[[str], None]) -> Any:
        ranked: list[tuple[tuple[int, ...], Candidate, Run, Judgement]] = []
        failed: list[Verdict] = []
        most, beyond = math.inf, _BEYOND if self.checker.program.warm else BEYOND
        with closing(sandbox.abreast(self.checker.begun(tier, control), ABREAST, end)) as trials:
            for count, (candidate, trial) in enumerate(trials, 1):
                run = self.checker.ended(candidate, trial)
                judgement = judged(candidate.edits, run.answer, control.answer) if passes(run, control) else None
                self.checker.note(candidate, run, judgement)
                if judgement is not None and judgement.refused is None:
                    doubtful = int(bool(judgement.doubts))
                    ranked.append(((doubtful, *ties(candidate, run, control), count), candidate, run, judgement))
                else:
                    failed.append(Verdict(candidate, False, "", LATE if late(run) else self.checker.level))
                progress(words.progress(count, len(ranked), self.checker.scene.options.language))
                if count % ABREAST == 0:  # those that ran abreast count alike, whichever ended first
                    most = min(most, count + beyond) if ranked else most
                    if self.checker.left <= 0 or len(ranked) >= ENOUGH or count >= most:
                        break
        ranked.sort(key=lambda one: one[0])
        quiet = bool(ranked) and ranked[0][0][:2] == (0, 0)
        if self.checker.trace is not None and ranked and not self.checker.trace.first:
            self.checker.trace.first = told_apart([ranks for ranks, *_ in ranked])
        held = [self.checker.passed(candidate, run, control, judgement) for _, candidate, run, judgement in ranked]
        return with_ties(self.checker, held), failed, quiet


def _guarded(evidence: Any, candidate: Candidate) -> list[Candidate]:
    try:
        return list(origins(evidence, candidate)) if evidence is not None and evidence.crash is not None else []
    except (AttributeError, LookupError, TypeError, ValueError):
        return []
