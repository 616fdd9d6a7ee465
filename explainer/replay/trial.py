"""Tries candidate edits at the level that the situation allows, and says what was run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.frozen import frozen
from explainer.oracle.judge import Judgement

#: A crash within so many seconds of work from the start is early enough to run the whole program again unasked.
EARLY = 10.0
#: A program that holds more than this many bytes is not run again unasked: its weights would be there twice.
LARGE = 3 << 30
#: One that holds more than this many is forked once at a time.
_MANY = 1 << 30
#: With fewer seconds than this no program gets far.
_LITTLE = 0.3
#: The level of a run that was ended while it was still going on: it refutes nothing.
LATE = "late"
Progress = Callable[[str], None]


class CannotBegin(RuntimeError):
    """No run of the program can begin: there is no room for copies, or there can be no more processes."""


@frozen
class Verdict:
    """How a candidate did: `said` is what was run, in words; `level` program, forward, operator, late, none (untried).

    `reshaped`, of a number changed: how many weights have another shape by it, the model's input counted as two.
    `judgement`: what the oracle says of one that passed.
    """

    candidate: Candidate
    passed: bool
    said: str
    level: str
    reshaped: int = 0
    judgement: Judgement = Judgement()


def try_candidates(
    scene: Any, candidates: Iterable[Candidate], check: str, progress: Progress | None = None
) -> list[Verdict]:
    """Verdicts on candidates, those that passed first and best first. KeyboardInterrupt skips what is left.

    `check` is the cheapest level that can refute them. A program that `explain run` started is run again whole, as is a
    script that crashed by itself and soon; one that takes longer where its statements alone could not tell of a
    candidate that comes before all that passed.
    """
    offered = list(candidates)
    if whole_program(scene) or (offered and quick_script(scene, offered[0])):
        whole = from_start(scene, offered, progress)
        if whole_program(scene) or any(one.passed for one in whole):
            return whole
    from explainer.replay.inprocess import try_in_process

    found = try_in_process(scene, offered, check)
    unknown = _undecided(offered, found)
    if not unknown or not whole_script(scene):
        return found
    again = from_start(scene, unknown, progress)
    rest = [one for one in found if one.candidate not in unknown]
    return sorted([*again, *rest], key=lambda one: not one.passed)


def _undecided(offered: list[Candidate], found: list[Verdict]) -> list[Candidate]:
    """The candidates that nothing was found out of, among those offered before the first that passed."""
    passed = [one.candidate for one in found if one.passed]
    before = offered[: min(offered.index(one) for one in passed)] if passed else offered
    unknown = [one.candidate for one in found if one.level == "none"]
    return [one for one in before if one in unknown]


def from_start(scene: Any, candidates: Iterable[Candidate], progress: Progress | None = None) -> list[Verdict]:
    """Verdicts on candidates by the whole program, run again from its start."""
    from explainer.replay.verdicts import verdicts

    if whole_program(scene):
        return verdicts(scene, candidates, progress or silent)
    found: list[Verdict] = []
    with scene.replaying():  # which Ctrl-C ends
        found += verdicts(scene, candidates, progress or silent)
    return found


def whole_program(scene: Any) -> bool:
    """Whether the program can and should be run again whole: see `Options.program` and `Options.check`."""
    program = scene.options.program
    return program is not None and not program.warm and anew(scene.options)


def anew(options: Any) -> bool:
    """Whether a program can and should be run again from its start in a clean process."""
    program, check = options.program, options.check
    if program is None or check is False or not options.replay:
        return False
    from explainer.replay.program import unavailable

    if unavailable(program):
        return False
    return check is True or early(program.started)


def whole_script(scene: Any) -> bool:
    """Whether a script that crashed by itself, or what led to a crash elsewhere, can run again.

    Within a replay's limits; in a clean process where this one uses CUDA.
    """
    allowed = scene.live is not None and scene.options.replay and scene.options.check is not False
    if not allowed or scene.seconds_left < _LITTLE:
        return False
    from explainer.replay.confine import sandbox
    from explainer.replay.excerpt import excerpt_of

    if sandbox.unavailable(anew=True) is not None or resident_bytes() > LARGE:
        return False
    return runs_whole(scene) or (scene.options.excerpt and excerpt_of(scene) is not None)


def runs_whole(scene: Any) -> bool:
    """Whether the crash came early in a program that can run again whole."""
    from explainer.replay.program import unavailable

    program = scene.options.program
    return program is not None and unavailable(program) is None and early(program.started)


def quick_script(scene: Any, first: Candidate) -> bool:
    """Whether a script that crashed by itself does so again at once; meanwhile a first candidate is begun with."""
    from explainer.replay.programs import checker

    if not whole_script(scene):
        return False
    with scene.replaying():
        return checker(scene).quick(first)
    return False


def turned_too(scene: Any, candidate: Candidate) -> bool:
    """Whether turning a tensor of the failing call around makes the program run as an edit does."""
    from explainer.replay.programs import checker
    from explainer.replay.rivals import fits_turned

    found = False
    if whole_program(scene) or whole_script(scene):
        with scene.replaying():
            found = fits_turned(checker(scene), candidate)
    return found


def early(started: float) -> bool:
    """Whether a crash after so many seconds of work is early, and a second such program would fit.

    On a slow disk the processor time counts. A GPU takes seconds to start, which what is run again does not use.
    """
    from explainer.replay import standin

    if resident_bytes() > LARGE:
        return False
    most = EARLY if standin.described() is None else 3 * EARLY
    return started <= most or (time.process_time() <= most / 2 and started <= 6 * EARLY)


def at_once() -> int:
    """How many forks of this process may be at work at the same time: one of a large process."""
    return 1 if resident_bytes() > _MANY else 2


def resident_bytes() -> int:
    """The memory that this process holds, in bytes; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def silent(_: str) -> None:
    """Progress that nobody asked for."""
