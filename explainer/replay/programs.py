"""Runs of the whole program: the unedited one first, as control and recorded, then edited ones, within one budget."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from explainer.decisions import Trace
from explainer.diagnosis import Edit
from explainer.edits import words
from explainer.edits.candidate import Candidate
from explainer.edits.lines import EditError, applied
from explainer.frozen import replace
from explainer.oracle.judge import Judgement, judged
from explainer.oracle.places import lines_after
from explainer.oracle.words import tested
from explainer.replay import trial
from explainer.replay.ahead import SHARE, SOON, begun
from explainer.replay.confine import sandbox
from explainer.replay.excerpt import below, excerpt_of
from explainer.replay.outcomes import (
    alike,
    ended_by,
    full,
    further,
    late,
    other_input,
    passes,
    reshaped,
)
from explainer.replay.program import Program, Run, Trial
from explainer.replay.trial import CannotBegin, Verdict
from explainer.replay.work import STARVED, Spent

#: Seconds of work for all trials of one crash together, those that go on at the same time counted as one.
TRIALS = 7.0
#: For the wide search behind them.
WIDE = 12.0
#: For the unedited run, before them.
START = 30.0
#: How many times the seconds in which memory fills up are given to the trials besides.
_FILLING = 4.0
_PROCESSORS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
#: How many runs go on at the same time, each in one thread.
ABREAST = 4 if _PROCESSORS >= 8 else 2
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
        self.excerpt = None if trial.runs_whole(scene) else excerpt_of(scene)
        self.program: Program = self.excerpt.program if self.excerpt is not None else scene.options.program
        self._spent = scene.spent if self.program.warm else Spent()
        share = self.left * SHARE if self.program.warm else START
        known = self.excerpt.begun if self.excerpt is not None else scene.options.begun
        first = known or begun(self.program, share, message=scene.crash.message)
        self.session, self._recording = first.session, first.recording
        self._plain = None if self.program.warm else self.session.begin({}, START, failed=self._failed())
        self._control: Run | None = None
        self._taken: Run | None = None
        self._most = TRIALS
        self.tried: dict[tuple[Edit, ...], Run] = {}
        #: What passed, and was not refused, by its edits: candidates with what the oracle says of their runs.
        self.survived: dict[tuple[Edit, ...], tuple[Candidate, Judgement]] = {}
        #: What moved the failure further on: another mistake may be left.
        self.moved: list[Candidate] = []
        self.started: dict[tuple[Edit, ...], Trial] = {}

    @property
    def left(self) -> float:
        """Seconds of work that are left."""
        return self.scene.seconds_left if self.program.warm else max(0.0, self._most - self._spent.seconds)

    @property
    def level(self) -> str:
        """What is run: the program, or what leads to its crash."""
        return "program" if self.excerpt is None else "forward"

    def extend(self, work: float = WIDE) -> None:
        """Let a further search have so many seconds of work of its own."""
        self._most = max(self._most, self._spent.seconds + work)

    def counted(self, run: Run, abreast: int = 1) -> Run:
        """A run whose work is taken from what is left."""
        self._spent.add(run.seconds / abreast)
        self.scene.starved = self.scene.starved or run.failed == STARVED
        return run

    def control(self) -> Run | None:
        """The unedited run where it failed as the crash did; None where it did not."""
        if self._control is None:
            self._control = self._recorded_soon() or self._run_plainly()
            self._most += _FILLING * self._control.seconds if full(self._control) else 0.0
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
            if self.excerpt is None:  # whose run is counted already
                self._spent.add(max(0.0, self._taken.seconds - beside))
        return self._taken

    def _run_plainly(self) -> Run:
        if self._plain is not None:
            return self._plain.wait()
        return self.counted(self.session.begin({}, max(self.left, 0.1) * SHARE, failed=self._failed()).wait())

    def quick(self, first: Candidate) -> bool:
        """Whether an unedited run failed as the crash did, and so soon that there is time for many edited ones.

        Meanwhile the one that is tried first is begun with.
        """
        self._begin_ahead(first)
        self.scene.idle()
        quick = self._recording.soon() and self.control() is not None
        if not quick:
            self.end_ahead()
        return quick

    def record(self) -> Mapping[str, Any] | None:
        """What a recorder saw in an unedited run; None where it failed otherwise or leaves no time for edits."""
        control = self.control()
        if control is None:
            return None
        if self.program.warm and self.left < control.seconds:
            self.scene.leave_out("late")
            return None
        run = self._recorded()
        if not self._same(run):  # code that asks for `type(n) is int` does not take numbers with a memory
            run = self.counted(self.session.run({}, max(self.left * 0.4, 0.1), record=True, numbers=False))
        if not self._same(run):
            self.scene.leave_out("late" if late(run) else "recording")
            return None
        return run.answer.get("recording")

    def watched(self, recorder: str) -> Any:
        """What another recorder (see `replay.again`) saw in an unedited run; None where that run failed otherwise."""
        self.control()
        run = self.counted(self.session.run({}, max(self.left * 0.6, 0.1), record=recorder))
        return run.answer.get("recording") if self._same(run) else None

    def sieved(self, candidates: Sequence[Candidate], enough: int) -> list[str | None]:
        """How candidates fare where the program failed, until enough get past it (`replay.sieve`). Empty: unknown.

        Every second one is looked at in a run of its own; None: it was not looked at.
        """
        rows = [[_plain(edit, self.below(edit.file)) for edit in one.edits] for one in candidates]
        asked = {"record": "sieve", "enough": -(-enough // ABREAST)}
        work = max(self.left * 0.6, 0.1)
        trials = [self.session.begin({}, work, changes=rows[at::ABREAST], **asked) for at in range(ABREAST)]
        runs = [self.counted(one.wait(), ABREAST) for one in trials]
        if not any(map(self._same, runs)):
            return []
        told = itertools.zip_longest(*(run.answer.get("recording") or [] if self._same(run) else [] for run in runs))
        return list(itertools.chain.from_iterable(told))

    def runs(
        self, candidates: Iterable[Candidate], progress: Callable[[str], None]
    ) -> Iterator[tuple[Candidate, Run, Judgement | None]]:
        """Each candidate with its run and what the oracle says of one that passed, as long as there is work left."""
        control, passed = self.control(), 0
        if control is None:
            return
        with closing(sandbox.abreast(self.begun(candidates, control), ABREAST, end)) as trials:
            for count, (candidate, trial) in enumerate(trials, 1):
                run = self.ended(candidate, trial)
                judgement = judged(candidate.edits, run.answer, control.answer) if passes(run, control) else None
                self.note(candidate, run, judgement)
                held = judgement is not None and judgement.refused is None
                passed += held
                progress(words.progress(count, passed, self.scene.options.language))
                yield candidate, run, judgement if held else None
                if self.left <= 0:
                    return

    def note(self, candidate: Candidate, run: Run, judgement: Judgement | None) -> None:
        """Keep how a run of a candidate ended: a survivor always, all others where somebody asks."""
        refused = judgement.refused if judgement is not None else None
        passed = judgement is not None and refused is None
        if judgement is not None and passed:
            self.survived.setdefault(candidate.edits, (candidate, judgement))
        elif judgement is None and further(candidate, run, self._control):
            self.moved.append(candidate)
        if self.trace is None:
            return
        reason = f"why_refused_{refused}" if refused else ended_by(run)
        self.trace.tried(candidate, "passed" if passed else "late" if late(run) else "failed", reason)

    def tried_with(self, candidate: Candidate, control: Run) -> Run | None:
        """The run of the program with an edit; None where it cannot be made, or nothing is left."""
        if self.left <= 0:
            return None
        run = self.tried.get(candidate.edits) or self._begin(candidate, control)
        return self.ended(candidate, run) if run is not None else None

    def begun(self, tier: Iterable[Candidate], control: Run) -> Iterator[tuple[Candidate, Run | Trial]]:
        """The candidates that can be tried, each with its trial, begun when it is asked for, or its known run."""
        for candidate in tier if self.left > 0 else ():
            known = self.tried.get(candidate.edits) or self.started.pop(candidate.edits, None)
            run = known or self._begin(candidate, control)
            if run is not None:
                yield candidate, run
            elif self.trace is not None:
                self.trace.filtered(candidate, "why_outside")

    def ended(self, candidate: Candidate, run: Run | Trial) -> Run:
        ended = self.counted(run.wait(), ABREAST) if isinstance(run, Trial) else run
        self.scene.tried = True
        self.tried[candidate.edits] = ended
        return ended

    def _begin(self, candidate: Candidate, control: Run) -> Trial | None:
        texts = self.texts(candidate)
        trial = self._run_with(candidate, texts, control) if texts is not None else None
        if trial is not None:
            trial.limit(self._enough(control))
        return trial

    def _begin_ahead(self, candidate: Candidate) -> None:
        texts = self.texts(candidate) if candidate.edits not in self.tried else None
        if texts is not None:
            self.started[candidate.edits] = self._run_with(candidate, texts, self._control)

    def _run_with(self, candidate: Candidate, texts: dict[str, str], control: Run | None) -> Trial:
        folder = self.program.folder
        edits = [replace(edit, file=os.path.join(folder, self.below(edit.file))) for edit in candidate.edits]
        lines = lines_after(edits, folder)
        known = {"edited": lines, "failed": self._failed(), "usual": self._usual(edits), "refused": self._refused()}
        return self.session.begin(texts, self._limit(control), **known)

    def _usual(self, edits: Sequence[Edit]) -> dict[str, Any] | None:
        """What the call that made something odd in the recording, at a line that is edited, had usually made."""
        recording = self._taken.answer.get("recording") if self._taken is not None else None
        for step in recording["steps"] if recording else ():
            place = step["stack"][0] if step["unlike"] and step["stack"] else None
            there = place and any(one.start_line <= place[1] <= one.end_line and self.below(one.file) == place[0]
                                  for one in edits)  # fmt: skip
            if there:
                return {"function": step["function"], "first": step["unlike"][3]}
        return None

    def _refused(self) -> tuple[str, list[list[int]]] | None:
        """The line that failed and the shapes of its two operands, which did not fit, where a recording has them."""
        recording = self._taken.answer.get("recording") if self._taken is not None else None
        apart = "must match the size of tensor" in self.scene.crash.message
        shapes = [shape for shape, _ in recording["steps"][0]["before"]] if recording and recording["steps"] else []
        frame = self.scene.crash.user_frame
        return (frame.code.strip(), shapes) if apart and len(shapes) == 2 and frame is not None else None

    def _failed(self) -> tuple[str, str] | None:
        """The file, below the program's folder, and the name of the function that failed (`Net.forward`)."""
        frame = self.scene.crash.user_frame
        name = frame.function.rpartition("<locals>.")[2] if frame is not None else ""
        plain = all(part.isidentifier() for part in name.split("."))
        return (self.below(frame.file), name) if frame is not None and plain else None

    def end_ahead(self) -> None:
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
        return control.steps + _STEPS if self.program.warm and not full(control) else 0

    def texts(self, candidate: Candidate) -> dict[str, str] | None:
        """The edited files' texts by path below the program's folder; None where one lies outside of it."""
        texts: dict[str, str] = {}
        for file in {edit.file for edit in candidate.edits}:
            name = self.below(file)
            if name.startswith(os.pardir):
                return None
            try:
                texts[name] = self._edited(name, file, [edit for edit in candidate.edits if edit.file == file])
            except (OSError, UnicodeDecodeError, EditError):
                return None
        return texts

    def _edited(self, name: str, file: str, edits: list[Edit]) -> str:
        """A file's text with edits; EditError where they are of lines that the excerpt has not as they are."""
        own = self.session.texts.get(name)
        if own is None:
            return edited(file, edits)
        lines = own.split("\n")
        if any(edit.before not in (None, "\n".join(lines[edit.start_line - 1 : edit.end_line])) for edit in edits):
            raise EditError(f"lines of {name} are left out")
        return applied(own, edits)

    def _same(self, run: Run) -> bool:
        """Whether a run failed as the crash did."""
        return alike(run, self.scene.crash)

    def below(self, file: str) -> str:
        """A file's path below the program's folder."""
        return self.excerpt.below(file) if self.excerpt is not None else below(self.program, file)

    def source(self, path: str) -> Any:
        """The source of a file of the program."""
        return self.excerpt.source(path) if self.excerpt is not None else self.scene.source(path)

    def passed(self, candidate: Candidate, run: Run, control: Run, judgement: Judgement) -> Verdict:
        """The verdict on a candidate with which the program ran."""
        language = self.scene.options.language
        level = self.level if run.ended or not self.program.warm else "forward"
        changed = reshaped(run, control, 2) + 2 * other_input(run, control) if candidate.literal else 0
        said = words.ran(run.ended and self.excerpt is None, run.steps, tested(judgement, language), language)
        if self.excerpt is not None:
            said = words.part(tested(judgement, language), language)
        return Verdict(candidate, True, said, level, changed, judgement)


def _plain(edit: Edit, path: str) -> dict[str, Any]:
    return {"file": path, "start": edit.start_line, "end": edit.end_line, "after": edit.after}


def end(begun: tuple[Candidate, Run | Trial]) -> None:
    """Leave a trial that was begun and is not asked for."""
    if isinstance(begun[1], Trial):
        begun[1].done()


def edited(file: str, edits: list[Edit]) -> str:
    """A file's text with edits; newlines as Python reads them."""
    import tokenize

    with tokenize.open(file) as opened:
        return applied(opened.read(), edits)
