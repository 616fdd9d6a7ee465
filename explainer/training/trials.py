"""Trials: the program once more in the sandboxed child, as it is and with an edit, on the same seeds and on others."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from explainer.diagnosis import Edit
from explainer.edits.lines import EditError, applied
from explainer.frozen import frozen, replace
from explainer.training.directions import judges, verdict
from explainer.training.finding import Attempt, Finding
from explainer.training.judge import Compared, compared, gain, metrics, share

if TYPE_CHECKING:
    from explainer.replay.program import Program, Run, Session, Trial

_OBSERVER = "explainer.training.observer"
#: What the clean process imports once, so that no run has to.
_LOADED = ("explainer.training.loading",)
#: Attempts of one finding that are tried at most.
_MOST = 4


@frozen
class Tried:
    """An attempt that was run. `seeds` is on how many different seeds it went better, `gone` that the fact has gone.

    `printed` is what the program printed without it, and with it.
    """

    attempt: Attempt
    compared: Compared
    seeds: int
    of: int
    gone: bool
    whole: bool
    printed: tuple[str, str] = ("", "")


class Trials:
    """The runs of one program within a budget in seconds. `interrupted` after Ctrl-C: nothing more is begun.

    `lasted` is how many seconds by the clock the last whole run without an edit took.
    """

    def __init__(self, program: Program, budget: float, took: float, progress: Callable[[str], None]):
        self.budget = budget
        self.began = time.monotonic()
        self.progress = progress
        self.took = took
        self.interrupted = False
        self._seconds: dict[int, float] = {}
        self.lasted = took
        self._program = program
        self._session: Session | None = None
        self._controls: dict[int, Any] = {}
        self._running: list[Trial] = []

    @cached_property
    def why(self) -> str | None:
        """Why the program cannot be run again; None where it can."""
        from explainer.replay.program import unavailable  # what most watched programs never need

        return unavailable(self._program)

    @property
    def left(self) -> float:
        """Seconds by the clock that are left of the budget."""
        return self.budget - (time.monotonic() - self.began)

    def close(self) -> None:
        """End what is still at work."""
        for trial in self._running:
            trial.done()
        if self._session is not None:
            self._session.close()

    def tried(self, finding: Finding, comparable: bool = True, seeds: int = 2) -> list[Tried]:
        """The attempts of a finding that could be run, those that went better first; the first on some seeds."""
        if self.why or self.interrupted or not finding.attempts or self.left <= 0:
            return []
        try:
            return self._tried(finding, comparable, seeds)
        except KeyboardInterrupt:
            self.interrupted = True
            return []

    def control(self) -> Any:
        """What was observed of the program as it is, run whole; None where that gives nothing."""
        try:
            if 0 not in self._controls:
                self._runs([], [0])
        except KeyboardInterrupt:
            self.interrupted = True
        return self._controls.get(0)

    def verdict(self, sources: Sequence[Any]) -> bool | None:
        """Whether the program as it is calls its own result good enough; None where it does not say."""
        if not any(judges(source) for source in sources) or self.why or self.left <= 0:
            return None
        control = self.control() or {}
        return verdict(sources, control.get("printed", ""))

    def still(self, attempt: Attempt | None = None) -> Any:
        """What was observed of the program, or of an attempt, where steps change nothing; None where nothing was."""
        try:
            return observed(self._ended(0, self._begin(attempt, 0, still=True))[1]) if not self.why else None
        except KeyboardInterrupt:
            self.interrupted = True
            return None

    def waits(self) -> tuple[Any, Any]:
        """What was observed of waiting for batches in the program as it is, and with batches kept in memory."""
        try:
            runs = [self._ended(0, self._begin(None, 0, sampled=True, kept=kept))[1] for kept in (False, True)]
        except KeyboardInterrupt:
            self.interrupted = True
            return None, None
        return observed(runs[0]), observed(runs[1])

    def explained(self, edits: Sequence[Edit], language: str) -> Any:
        """The report (see `transfer.sent`) on the error that ends the program with some edits; None without one."""
        if self.why or self.interrupted or self.left <= 0:
            return None
        asked = {"by": "explainer.api", "language": language, "packs": []}
        try:
            trial = self._begin(Attempt("", tuple(edits)), 0, observer=None, explain=asked)
            return self._ended(0, trial)[1].answer.get("report")
        except KeyboardInterrupt:
            self.interrupted = True
            return None

    @property
    def folder(self) -> str:
        """The program's folder."""
        return self._program.folder

    def begun(self, attempts: Sequence[Attempt], steps: int) -> Iterator[tuple[Attempt, Any]]:
        """Each attempt with what was observed of its first steps, two runs at a time; None where it does not run."""
        if self.why or self.interrupted:
            return
        try:
            for at in range(0, len(attempts), 2):
                if self.left <= 0:
                    return
                pair = [one for one in attempts[at : at + 2] if self._texts(one.edits)]
                runs = self._runs([(one, 0) for one in pair], steps=steps)
                yield from zip(pair, map(observed, runs), strict=True)
        except KeyboardInterrupt:
            self.interrupted = True

    def _tried(self, finding: Finding, comparable: bool, seeds: int) -> list[Tried]:
        attempts = [one for one in finding.attempts[:_MOST] if self._texts(one.edits) is not None]
        found = []
        firsts = self._runs([(one, 0) for one in attempts])
        control = self._controls.get(0)
        if control is None:
            return []
        for one, run in zip(attempts, firsts, strict=True):
            seen = observed(run)
            if seen is None or (not run.ended and run.answer.get("exit") is not None):
                continue
            pair = compared(control, seen, comparable, finding.searched)
            texts, gone = (control["printed"], seen["printed"]), finding.rule not in seen["rules"]
            found.append(Tried(one, pair, int(pair.better), 1, gone, run.ended, texts))
        found.sort(
            key=lambda one: (not (one.compared.better and one.gone), one.compared.worse, -round(4 * gain(one.compared)))
        )
        if found and found[0].compared.better and found[0].gone and self.left > self.lasted * 2:
            for seed in range(1, seeds):
                found[0] = self._confirmed(found[0], comparable, finding.searched, seed)
        return found

    def _confirmed(self, one: Tried, comparable: bool, fitting: bool, seed: int) -> Tried:
        """The same on another seed."""
        runs = self._runs([(one.attempt, seed)])
        control, seen = self._controls.get(seed), observed(runs[0])
        if control is None or seen is None:
            return one
        again = compared(control, seen, comparable, fitting)
        return replace(one, seeds=one.seeds + again.better, of=one.of + 1)

    def _runs(self, wanted: Sequence[tuple[Attempt, int]], controls: Sequence[int] = (), steps: int = 0) -> list[Run]:
        """Run attempts, each on a seed, two at a time; beside them the control of each seed where it is not known."""
        seeds = dict.fromkeys((*controls, *(seed for _, seed in wanted)))
        waiting: list[tuple[Any, int]] = [(None, seed) for seed in seeds if seed not in self._controls]
        waiting += wanted
        results: dict[int, Run] = {}
        begun: list[tuple[int, Trial]] = []
        for number, (attempt, seed) in enumerate(waiting):
            trial = self._begin(attempt, seed)
            if attempt is not None and steps:
                trial.limit(steps)
            begun.append((number, trial))
            if len(begun) == 2:
                results.update([self._ended(*begun.pop(0))])
        for one in begun:
            results.update([self._ended(*one)])
        for number, (attempt, seed) in enumerate(waiting):
            if attempt is None:
                self._controls[seed] = observed(results[number])
                self.lasted = self._seconds.get(number) or self.lasted
        return [results[number] for number, (attempt, _) in enumerate(waiting) if attempt is not None]

    def _begin(self, attempt: Attempt | None, seed: int, **extra: Any) -> Trial:
        """Start the program with an attempt's edits, or as it is."""
        if self._session is None:
            from explainer.replay.program import Session

            self._session = Session(self._program, also=_LOADED)
        texts = self._texts(attempt.edits) if attempt is not None else {}
        limit = max(min(self.left, 20 + 6 * self.took), 0.1)
        wanted = {"observer": _OBSERVER, "shift": 1000 * seed, **extra}
        trial = self._session.begin(texts or {}, limit, **wanted)
        self._running.append(trial)
        self.progress("trial")
        return trial

    def _ended(self, number: int, trial: Trial) -> tuple[int, Run]:
        run = trial.wait(max(self.left, 0.0))
        self._running.remove(trial)
        self._seconds[number] = time.monotonic() - trial.began
        return number, run

    def _texts(self, edits: Sequence[Edit]) -> dict[str, str] | None:
        """The edited files' texts by path below the program's folder; None where one lies outside of it."""
        folder = os.path.realpath(self._program.folder)
        texts: dict[str, str] = {}
        for file in {edit.file for edit in edits}:
            path = os.path.realpath(os.path.join(folder, file))
            below = os.path.relpath(path, folder)
            if below.startswith(os.pardir):
                return None
            try:
                with open(path, encoding="utf-8") as opened:
                    texts[below] = applied(opened.read(), [edit for edit in edits if edit.file == file])
            except (OSError, UnicodeDecodeError, EditError):
                return None
        return texts


def taught(pair: Compared, trials: Trials, attempt: Attempt | None = None) -> float:
    """By which share the program's number beats that of a run, or of an attempt, whose steps change nothing.

    Infinite where it has no number, or that run gave none.
    """
    still = trials.still(attempt) if pair.metric else None
    number = metrics(still["printed"], still.get("directions", {})).get(pair.metric) if still else None
    return math.inf if number is None else share(number, pair.after, pair.rising)


def observed(run: Run) -> Any:
    """What the observer in the child handed back; None where the run gave nothing or nothing was trained."""
    seen = run.answer.get("observed")
    return seen if seen and run.failed is None else None
