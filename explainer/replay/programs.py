"""Trials by whole programs: the control first, then candidates two at a time, best tier first, within one budget."""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import groupby
from typing import Any

from explainer.decisions import Trace
from explainer.diagnosis import Edit
from explainer.edits import words
from explainer.edits.candidate import Candidate
from explainer.edits.changes import cancels
from explainer.edits.evidence import evidence_of
from explainer.edits.generators import recorded
from explainer.edits.lines import EditError, applied
from explainer.edits.relocate import origins
from explainer.oracle.judge import Judgement, judged
from explainer.oracle.places import lines_after
from explainer.oracle.words import tested
from explainer.replay import sandbox
from explainer.replay.ahead import SHARE, SOON, begun
from explainer.replay.outcomes import (
    WHOLE_CALLS,
    ended_by,
    further,
    late,
    other_input,
    passes,
    plain,
    reshaped,
    ties,
    told_apart,
)
from explainer.replay.program import Program, Run, Trial
from explainer.replay.rivals import with_ties
from explainer.replay.sieve import SAME
from explainer.replay.trial import LATE, CannotBegin, Verdict
from explainer.replay.work import STARVED, Spent

#: Seconds of work for all trials of one crash together, those that go on at the same time counted as one.
TRIALS = 7.0
#: For the wide search behind them.
WIDE = 5.0
#: For the unedited run, before them.
START = 30.0
#: How many runs go on at the same time, and how many survivors of a tier are enough.
ABREAST, ENOUGH = 2, 4
#: How many more candidates of a tier are run once one holds; within the limits of a replay.
BEYOND, _BEYOND = 6, 2
#: How many candidates of the search are run without having been sieved.
UNSIEVED = 10
#: Before the tiers from this one on come repairs of two edits; those have a tier of their own.
LIKELY, FOLLOWED = 3, -2
_NOT_RUN = "none"
#: Within the limits of a replay: the optimizer steps beyond the failing one after which an edited program has run long
#: enough.
_STEPS = 20


def checker(scene: Any) -> Checker:
    """The crash's checker, made once: rules and the search share its clean process and its budget."""
    made = scene.once("program checker", lambda: Checker(scene))
    if made is None:
        scene.leave_out("processes")
        raise CannotBegin("the program cannot be run again")
    return made


class Checker:
    """Runs a program with edits. The unedited program must fail as the crash did, else nothing is checked."""

    def __init__(self, scene: Any):
        self.scene = scene
        self.trace: Trace | None = scene.options.trace
        self.program: Program = scene.options.program
        self._spent = scene.spent if self.program.warm else Spent()
        share = self.left * SHARE if self.program.warm else START
        first = scene.options.begun or begun(self.program, share)
        self.session, self._recording = first.session, first.recording
        self._plain = None if self.program.warm else self.session.begin({}, START)
        self._control: Run | None = None
        self._taken: Run | None = None
        self._most = TRIALS
        self.moved: list[Candidate] = []
        self.gone_on: list[Candidate] = []
        self.tried: dict[tuple[Edit, ...], Run] = {}
        #: What passed, and was not refused, by its edits: candidates with what the oracle says of their runs.
        self.survived: dict[tuple[Edit, ...], tuple[Candidate, Judgement]] = {}
        self.started: dict[tuple[Edit, ...], Trial] = {}

    @property
    def left(self) -> float:
        """Seconds of work that are left."""
        return self.scene.seconds_left if self.program.warm else max(0.0, self._most - self._spent.seconds)

    def extend(self, work: float = WIDE) -> None:
        """Let the wide search have so many seconds of work of its own, once."""
        self._most = TRIALS + work

    def _counted(self, run: Run, abreast: int = 1) -> Run:
        """A run whose work is taken from what is left."""
        self._spent.add(run.seconds / abreast)
        self.scene.starved = self.scene.starved or run.failed == STARVED
        return run

    def control(self) -> Run | None:
        """The unedited run where it failed as the crash did; None where it did not."""
        if self._control is None:
            self._control = self._recorded_soon() or self._run_plainly()
            for trial in self.started.values():
                trial.limit(self._enough(self._control))
        if self._same(self._control):
            return self._control
        self.scene.leave_out("late" if late(self._control) else "control")
        return None

    def _recorded_soon(self) -> Run | None:
        """The recording, where it came soon and failed as the crash did: one run that is both."""
        if not self.program.warm or not self._recording.soon():
            return None
        return run if self._same(run := self._recorded()) else None

    def _recorded(self) -> Run:
        """The recording, counted once: beyond the control's work where both went on at the same time."""
        if self._taken is None:
            self._taken = self._recording.wait()
            beside = self._control.seconds if self._control is not None else 0.0
            self._spent.add(max(0.0, self._taken.seconds - beside))
        return self._taken

    def _run_plainly(self) -> Run:
        if self._plain is not None:
            return self._plain.wait()
        return self._counted(self.session.begin({}, max(self.left, 0.1) * SHARE).wait())

    def quick(self, first: Candidate) -> bool:
        """Whether an unedited run failed as the crash did, and so soon that there is time for many edited ones.

        Meanwhile the one that is tried first is begun with.
        """
        self._begin_ahead(first)
        self.scene.idle()
        quick = self._recording.soon() and self.control() is not None
        if not quick:
            self._end_ahead()
        return quick

    def record(self) -> Mapping[str, Any] | None:
        """What `replay.recorder` saw in an unedited run; None where it failed otherwise or leaves no time for edits."""
        control = self.control()
        if control is None:
            return None
        if self.program.warm and self.left < control.seconds:
            self.scene.leave_out("late")
            return None
        run = self._recorded()
        if not self._same(run):  # code that asks for `type(n) is int` does not take numbers with a memory
            run = self._counted(self.session.run({}, max(self.left * 0.4, 0.1), record=True, numbers=False))
        if not self._same(run):
            self.scene.leave_out("late" if late(run) else "recording")
            return None
        return run.answer.get("recording")

    def watched(self, recorder: str) -> Any:
        """What another recorder (see `replay.again`) saw in an unedited run; None where that run failed otherwise."""
        self.control()
        run = self._counted(self.session.run({}, max(self.left * 0.6, 0.1), record=recorder))
        return run.answer.get("recording") if self._same(run) else None

    def sieved(self, candidates: Sequence[Candidate], enough: int) -> list[str]:
        """How candidates fare where the program failed, until enough get past it (`replay.sieve`). Empty: unknown."""
        folder = os.path.realpath(self.program.folder)
        rows = [[_plain(edit, folder) for edit in one.edits] for one in candidates]
        work = max(self.left * 0.5, 0.1)
        run = self._counted(self.session.run({}, work, record="sieve", changes=rows, enough=enough))
        return run.answer.get("recording") or [] if self._same(run) else []

    def runs(
        self, candidates: Iterable[Candidate], progress: Callable[[str], None]
    ) -> Iterator[tuple[Candidate, Run, Judgement | None]]:
        """Each candidate with its run and what the oracle says of one that passed, as long as there is work left."""
        control, passed = self.control(), 0
        if control is None:
            return
        with closing(sandbox.abreast(self._begun(candidates, control), ABREAST, _end)) as trials:
            for count, (candidate, trial) in enumerate(trials, 1):
                run = self._ended(candidate, trial, control)
                judgement = judged(candidate.edits, run.answer, control.answer) if passes(run, control) else None
                self._note(candidate, run, judgement)
                held = judgement is not None and judgement.refused is None
                passed += held
                progress(words.progress(count, passed, self.scene.options.language))
                yield candidate, run, judgement if held else None
                if self.left <= 0:
                    return

    def _tiers(self, candidates: Iterable[Candidate], family: str | None) -> Iterator[Iterable[Candidate]]:
        """The tiers in their order; for a family, repairs of two edits before each that is no more than possible."""
        for number, tier in groupby(candidates, key=lambda one: one.tier):
            if family is not None and number >= LIKELY:
                yield self._followed(family)
            yield tier
        if family is not None:
            yield self._followed(family)

    def _followed(self, family: str) -> Iterator[Candidate]:
        """Candidates of two edits: behind each first one that moved the failure on, what the search finds then."""
        from explainer.edits.chains import chained, going_on, sources_with

        for first in going_on(one for one in self.moved if one not in self.gone_on):
            self.gone_on.append(first)
            texts = self._texts(first)
            run = self._counted(self.session.run(texts or {}, max(self.left * 0.4, 0.1), record=True))
            recording = run.answer.get("recording")
            if texts and recording and run.error:
                folder = os.path.realpath(self.program.folder)
                edited = {os.path.join(folder, below): text for below, text in texts.items()}
                sources = sources_with(edited, self.scene.source)
                evidence = evidence_of(recording, self.scene, run.error["message"], sources)
                for both in chained(evidence, first, edited, family):
                    yield dataclasses.replace(both, tier=FOLLOWED)

    def _with_origins(self, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
        """What rules propose, after the same repair nearer to its cause: a better line to edit, if it holds.

        That of a rule's first fix, and what is certain, goes before its fixes as they are, those of the others behind.
        """
        offered = list(candidates)
        evidence = recorded(self.scene)
        moved = [(candidate.fix, one) for candidate in offered for one in _guarded(evidence, candidate)]
        sure = [one for _, one in moved if one.tier < 0]
        better = [one for fix, one in moved if fix == offered[0].fix or one in sure]
        others = [one for _, one in moved if one not in better]
        lone = [one for one in offered if one.kind in WHOLE_CALLS]
        yield from dict.fromkeys([*sure, *lone, *better])
        rest = [one for one in (*offered, *others) if one not in lone]
        yield from (dataclasses.replace(one, tier=int(bool(better))) for one in dict.fromkeys(rest))

    def verdicts(
        self, candidates: Iterable[Candidate], progress: Callable[[str], None], family: str | None = None
    ) -> list[Verdict]:
        """Verdicts on candidates; tiers after the first with a survivor that brings no new warnings are left alone.

        With a `family`, edits that moved the failure on are followed by a second one that its search finds.
        """
        candidates = iter(candidates)
        first = next(candidates, None)
        if first is None:
            return []
        candidates = itertools.chain([first], candidates)
        passed: list[Verdict] = []
        found: list[Verdict] = []
        try:
            control = self.control()
            if control is None:
                return [Verdict(one, False, "", _NOT_RUN) for one in candidates]
            if first.fix is not None:
                candidates = self._with_origins(candidates)
            plausible = self._plausible(candidates)
            for tier in self._tiers(plausible if family is None else self._sifted(plausible), family):
                held, failed, quiet = self._tier(tier, control, progress)
                passed, found = ([*held, *passed] if quiet else [*passed, *held]), found + failed
                if quiet or self.left <= 0:
                    break
        except KeyboardInterrupt:
            pass
        self._end_ahead()
        return sorted(passed, key=lambda one: bool(one.judgement.doubts)) + found

    def _plausible(self, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
        """The candidates that are worth a run."""
        for one in candidates:
            keep = not cancels(one)
            if self.trace is not None:
                self.trace.made(one) if keep else self.trace.filtered(one, "why_cancels")
            if keep:
                yield one

    def _sifted(self, candidates: Iterator[Candidate]) -> Iterator[Candidate]:
        """The first candidates; where none of them ends the search, the others but for those that the sieve stops."""
        yield from itertools.islice(candidates, UNSIEVED)
        rest = list(candidates)
        for one, fate in itertools.zip_longest(rest, self.sieved(rest, len(rest)) if rest else ()):
            if fate != SAME:
                yield one
            elif self.trace is not None:
                self.trace.filtered(one, "why_sieved")

    def _note(self, candidate: Candidate, run: Run, judgement: Judgement | None) -> None:
        """Keep how a run of a candidate ended: a survivor always, all others where somebody asks."""
        refused = judgement.refused if judgement is not None else None
        passed = judgement is not None and refused is None
        if judgement is not None and passed:
            self.survived.setdefault(candidate.edits, (candidate, judgement))
        if self.trace is None:
            return
        reason = f"why_refused_{refused}" if refused else ended_by(run)
        self.trace.tried(candidate, "passed" if passed else "late" if late(run) else "failed", reason)

    def _tier(self, tier: Iterable[Candidate], control: Run, progress: Callable[[str], None]) -> Any:
        ranked: list[tuple[tuple[int, ...], Candidate, Run, Judgement]] = []
        failed: list[Verdict] = []
        most, beyond = math.inf, _BEYOND if self.program.warm else BEYOND
        with closing(sandbox.abreast(self._begun(tier, control), ABREAST, _end)) as trials:
            for count, (candidate, trial) in enumerate(trials, 1):
                run = self._ended(candidate, trial, control)
                judgement = judged(candidate.edits, run.answer, control.answer) if passes(run, control) else None
                self._note(candidate, run, judgement)
                if judgement is not None and judgement.refused is None:
                    doubtful = int(bool(judgement.doubts))
                    ranked.append(((doubtful, *ties(candidate, run, control), count), candidate, run, judgement))
                else:
                    failed.append(Verdict(candidate, False, "", LATE if late(run) else "program"))
                    if further(candidate, run, control):
                        self.moved.append(candidate)
                progress(words.progress(count, len(ranked), self.scene.options.language))
                if count % ABREAST == 0:  # those that ran abreast count alike, whichever ended first
                    most = min(most, count + beyond) if ranked else most
                    if self.left <= 0 or len(ranked) >= ENOUGH or count >= most:
                        break
        ranked.sort(key=lambda one: one[0])
        quiet = bool(ranked) and ranked[0][0][:2] == (0, 0)
        if self.trace is not None and ranked and not self.trace.first:
            self.trace.first = told_apart([ranks for ranks, *_ in ranked])
        held = [self.passed(candidate, run, control, judgement) for _, candidate, run, judgement in ranked]
        return with_ties(self, held, control), failed, quiet

    def tried_with(self, candidate: Candidate, control: Run) -> Run | None:
        """The run of the program with an edit; None where it cannot be made, or nothing is left."""
        if self.left <= 0:
            return None
        run = self.tried.get(candidate.edits) or self._begin(candidate, control)
        return self._ended(candidate, run, control) if run is not None else None

    def _begun(self, tier: Iterable[Candidate], control: Run) -> Iterator[tuple[Candidate, Run | Trial]]:
        """The candidates that can be tried, each with its trial, begun when it is asked for, or its known run."""
        for candidate in tier if self.left > 0 else ():
            known = self.tried.get(candidate.edits) or self.started.pop(candidate.edits, None)
            run = known or self._begin(candidate, control)
            if run is not None:
                yield candidate, run
            elif self.trace is not None:
                self.trace.filtered(candidate, "why_outside")

    def _ended(self, candidate: Candidate, run: Run | Trial, control: Run) -> Run:
        ended = self._counted(run.wait(), ABREAST) if isinstance(run, Trial) else run
        self.scene.tried = True
        self.tried[candidate.edits] = ended
        return ended

    def _begin(self, candidate: Candidate, control: Run) -> Trial | None:
        texts = self._texts(candidate)
        trial = self._run_with(candidate, texts, control) if texts is not None else None
        if trial is not None:
            trial.limit(self._enough(control))
        return trial

    def _begin_ahead(self, candidate: Candidate) -> None:
        texts = self._texts(candidate) if candidate.edits not in self.tried else None
        if texts is not None:
            self.started[candidate.edits] = self._run_with(candidate, texts, self._control)

    def _run_with(self, candidate: Candidate, texts: dict[str, str], control: Run | None) -> Trial:
        lines = lines_after(candidate.edits, self.program.folder)
        return self.session.begin(texts, self._limit(control), edited=lines)

    def _end_ahead(self) -> None:
        """End what was begun ahead and not asked for."""
        while self.started:
            self.started.popitem()[1].done()

    def _limit(self, control: Run | None) -> float:
        """The seconds of work for a run with an edit."""
        seconds = control.seconds if control is not None else SOON
        more = 0.5 + 3 * seconds if self.program.warm else 4 + 4 * seconds
        return min(max(self.left, 0.1), more)

    def _enough(self, control: Run) -> int:
        """The optimizer steps after which a long run with an edit is over; 0: at its end."""
        return control.steps + _STEPS if self.program.warm else 0

    def _texts(self, candidate: Candidate) -> dict[str, str] | None:
        """The edited files' texts by path below the program's folder; None where one lies outside of it."""
        folder = os.path.realpath(self.program.folder)
        texts: dict[str, str] = {}
        files = {edit.file for edit in candidate.edits}
        for file in files:
            below = os.path.relpath(os.path.realpath(file), folder)
            if below.startswith(os.pardir):
                return None
            try:
                texts[below] = edited(file, [edit for edit in candidate.edits if edit.file == file])
            except (OSError, UnicodeDecodeError, EditError):
                return None
        return texts

    def _same(self, run: Run) -> bool:
        """Whether a run failed as the crash did: the same exception, message and line."""
        crash, error = self.scene.crash, run.error
        if not error or error["type"] != crash.name or plain(error["message"]) != plain(crash.message):
            return False
        frame = crash.user_frame
        lines = {line for _, line, _ in error["frames"]}
        return frame is None or not lines or frame.line in lines

    def passed(self, candidate: Candidate, run: Run, control: Run, judgement: Judgement) -> Verdict:
        """The verdict on a candidate with which the program ran."""
        language = self.scene.options.language
        level = "program" if run.ended or not self.program.warm else "forward"
        changed = reshaped(run, control, 2) + 2 * other_input(run, control) if candidate.literal else 0
        said = words.ran(run.ended, run.steps, tested(judgement, language), language)
        return Verdict(candidate, True, said, level, changed, judgement)


def _plain(edit: Edit, folder: str) -> dict[str, Any]:
    path = os.path.relpath(os.path.realpath(edit.file), folder)
    return {"file": path, "start": edit.start_line, "end": edit.end_line, "after": edit.after}


def _end(begun: tuple[Candidate, Run | Trial]) -> None:
    if isinstance(begun[1], Trial):
        begun[1].done()


def _guarded(evidence: Any, candidate: Candidate) -> list[Candidate]:
    try:
        return list(origins(evidence, candidate)) if evidence is not None and evidence.crash is not None else []
    except (AttributeError, LookupError, TypeError, ValueError):
        return []


def edited(file: str, edits: list[Edit]) -> str:
    """A file's text with edits; newlines as Python reads them."""
    import tokenize

    with tokenize.open(file) as opened:
        return applied(opened.read(), edits)
