"""Trials in sandboxed forks of the crashed process: the statements up to the crash run again with the edit in force."""

from __future__ import annotations

import ast
import os
import sys
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

from explainer.diagnosis import Edit
from explainer.edits import words
from explainer.edits.candidate import Candidate
from explainer.edits.lines import applied
from explainer.frozen import frozen
from explainer.replay import run, sandbox
from explainer.replay.swap import module_namespaces, swap
from explainer.replay.trial import Verdict, resident_bytes
from explainer.replay.window import Stopped, Window, window_of
from explainer.source import source_of

#: How many of the user's frames are tried, outermost first, until one's statements fail again as they did.
_FRAMES = 3


#: Of the time that is left, how much the unedited run may take; an edited one may take so many times as long and more,
#: in seconds, before a frame further in is tried: there an edit that lets a long program go on shows sooner.
_SHARE, _TIMES, _MORE = 0.4, 3, 0.3
#: A process that holds more than this many bytes is forked once at a time, a smaller one twice.
_LARGE = 1 << 30


@frozen
class Stage:
    """The frame whose statements are run again, and what to call that. `patience`: seconds for a run with an edit."""

    frame: Any
    text: str
    namespaces: tuple[dict[str, Any], ...] = ()
    patience: float | None = None


def try_in_process(scene: Any, candidates: Iterable[Candidate], check: str) -> list[Verdict]:
    """Verdicts on candidates; `level` is none where the statements cannot be run again as they failed.

    What `check: program` asks for (an edit of a constructor, of an earlier iteration) shows in a whole run only.
    """
    offered = list(candidates)
    if check == "program" or not offered or run.why_not(scene):
        return [Verdict(one, False, "", "none") for one in offered]
    trials: Trials = scene.once("trials", lambda: Trials(scene))
    found = trials.of([list(one.edits) for one in offered])
    verdicts = []
    for candidate, (held, text) in zip(offered, found, strict=True):
        said = words.say(words.CALL_RAN, scene.options.language, call=text) if held else ""
        verdicts.append(Verdict(candidate, bool(held), said, "none" if held is None else "forward"))
    return sorted(verdicts, key=lambda one: not one.passed)


class Trials:
    """The trials of one crash. Its frames are tried outermost first: what passes there says most."""

    def __init__(self, scene: Any):
        self.scene = scene
        self.until = time.monotonic() + scene.seconds_left
        self.at_once = 1 if resident_bytes() > _LARGE else 2
        frames = [names for live in scene.live.user for names in (live.frame.f_globals, live.locals)]
        namespaces = (*frames, *module_namespaces())
        self.stages = [_stage(frame, namespaces) for frame in _in_memory(scene.live)[:_FRAMES]]

    def of(self, offered: list[list[Edit]]) -> list[tuple[bool | None, str]]:
        """Whether the crash's statement runs with each set of edits (None where unknown), and what was run."""
        found: dict[int, tuple[bool | None, str]] = {}
        while self.stages and len(found) < len(offered):
            waiting = [number for number in range(len(offered)) if number not in found]
            found.update(self._at_stage({number: offered[number] for number in waiting}))
        return [found.get(number, (None, "")) for number in range(len(offered))]

    def _at_stage(self, offered: dict[int, list[Edit]]) -> Iterator[tuple[int, tuple[bool | None, str]]]:
        """The answers of the first stage; it is done with where it does not fail as it did, or takes too long."""
        stage = self.stages[0]
        control: list[int | None] = [] if stage.patience is not None else [None]
        edits = [*control, *offered]
        with closing(self._in_turn(stage, [[] if number is None else offered[number] for number in edits])) as children:
            for number, child in zip(edits, children, strict=False):
                inner = len(self.stages) > 1
                outcome = child.outcome(stage.patience if inner else None)
                self.scene.wasted += outcome.wasted
                if number is None and outcome.value is False:
                    stage = replace(stage, patience=_TIMES * outcome.seconds + _MORE)
                    self.stages[0] = stage
                elif number is None or (outcome.late and inner):
                    self.stages.pop(0)
                    return
                else:
                    yield number, (outcome.value, stage.text)

    def _in_turn(self, stage: Stage, offered: list[list[Edit]]) -> Generator[sandbox.Child, None, None]:
        """The runs with each of the edits, in order, some at once; those not asked for in the end are ended."""
        running: deque[sandbox.Child] = deque()
        try:
            for edits in offered:
                left = self.until - time.monotonic()
                if left < 0.05:
                    self.stages.clear()
                    break
                share = _SHARE if not edits else 1.0
                running.append(sandbox.begin(partial(_child, stage, edits), deadline=left * share, memory=self.memory))
                if len(running) >= self.at_once:
                    yield running[0]
                    running.popleft()
            while running:
                yield running[0]
                running.popleft()
        finally:
            for child in running:
                child.end()

    @property
    def memory(self) -> int:
        """What one run may allocate, in bytes."""
        return int(self.scene.options.memory)


def _stage(frame: Any, namespaces: tuple[dict[str, Any], ...]) -> Stage:
    failing = frame.failing()
    text = " ".join(failing.span.code.split()) if failing is not None else ""
    return Stage(frame, text if 0 < len(text) <= 60 else frame.frame.f_code.co_name, namespaces)


def _in_memory(live: Any) -> list[Any]:
    """The user's frames that led to the crash without running a file anew: from disk it would come unedited."""
    last = max((i for i, frame in enumerate(live.frames) if frame.frame.f_code.co_name == "<module>"), default=0)
    return [frame for frame in live.frames[last:] if frame.user]


def _child(stage: Stage, edits: list[Edit]) -> bool | None:
    """In the fork: put the edits in force, run the statements up to the crash, and see whether the last one fails.

    None where that would not tell: an edit stands where the statements do not come by.
    """
    frame = stage.frame
    for file, of_file in _by_file(edits, frame.file, stage.namespaces).items():
        old = "".join(line + "\n" for line in source_of(file).lines)
        if not swap(file, old, applied(old, of_file), stage.namespaces) and file != frame.file:
            return None
    if _unreached(frame, edits):
        return None
    above = [edit for edit in edits if _same(edit.file, frame.file) and edit.end_line < frame.line]
    line = frame.line + sum(map(_growth, above))
    through = max([line, *(_end(edit, above) for edit in _own(frame, edits) if edit.start_line > frame.line)])
    window = window_of(_Moved(frame, line), through=through)  # type: ignore[arg-type]
    if window is None or window.end_line < through:
        return None
    return _runs(window, _elsewhere(frame, edits))


def _own(frame: Any, edits: list[Edit]) -> list[Edit]:
    """The edits of the function (or of the top of the script) that a frame runs, before they are made."""
    source = source_of(frame.file)
    scope = source.function_at(frame.line)
    top = frame.frame.f_code.co_name == "<module>"
    return [
        edit
        for edit in edits
        if _same(edit.file, frame.file) and source.function_at(edit.start_line) is (None if top else scope)
    ]


def _end(edit: Edit, above: list[Edit]) -> int:
    """The last line of an edit below the crash once the edits are made; 0 of a deletion."""
    return 0 if edit.after is None else edit.start_line + sum(map(_growth, above)) + edit.after.count("\n")


def _unreached(frame: Any, edits: list[Edit]) -> bool:
    """Whether an edit of the frame's own statements stands above those that are run again: it would not show."""
    window, source = window_of(frame), source_of(frame.file)
    first = window.tree.body[0].lineno if window is not None and window.tree.body else 0  # type: ignore[attr-defined]
    own = [edit.start_line for edit in edits if _same(edit.file, frame.file) and edit.start_line < first]
    if frame.frame.f_code.co_name != "<module>":
        function = source.function_at(frame.line)
        return any(source.function_at(line) is function for line in own)
    return any(isinstance(source.statement_at(line), ast.Expr) and not source.function_at(line) for line in own)


def _elsewhere(frame: Any, edits: list[Edit]) -> set[tuple[str, str]]:
    """The functions, by file and name, that edits change beside the frame's own: unless they run, edits do not show.

    A constructor's changed statements have run again on the live objects.
    """
    own, found = _own(frame, edits), set()
    for edit in edits:
        function = None if edit in own else source_of(edit.file).function_at(edit.start_line)
        name = getattr(function, "name", "__init__")
        if name != "__init__":
            found.add((os.path.realpath(edit.file), name))
    return found


def _runs(window: Window, wanted: set[tuple[str, str]]) -> bool | None:
    """Whether the window's last statements run; None where the crashed run went another way or edits did not show."""
    skipped: list[int] = []
    missing, names = set(wanted), {name for _, name in wanted}

    def called(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name in names:
            missing.discard((os.path.realpath(frame.f_code.co_filename), frame.f_code.co_name))
            if not missing:  # watching every call makes a long program longer
                sys.setprofile(None)

    sys.setprofile(called if wanted else None)
    try:
        window.run(skipped.append)
    except Stopped:
        return None
    finally:
        sys.setprofile(None)
    failed = any(line >= window.line for line in skipped)
    return None if missing and failed else not failed


@frozen
class _Moved:
    """A live frame whose file has got other lines."""

    held: Any
    line: int

    @property
    def frame(self) -> Any:
        return self.held.frame

    @property
    def file(self) -> str:
        return self.held.file

    @property
    def locals(self) -> dict[str, Any]:
        return self.held.locals


def _by_file(edits: list[Edit], known: str, namespaces: Iterable[dict[str, Any]]) -> dict[str, list[Edit]]:
    """Edits by the file as its code objects name it."""
    files = [names.get("__file__") for names in namespaces]
    loaded = {os.path.realpath(file): file for file in files if isinstance(file, str)}
    loaded[os.path.realpath(known)] = known
    found: dict[str, list[Edit]] = {}
    for edit in edits:
        found.setdefault(loaded.get(os.path.realpath(edit.file), edit.file), []).append(edit)
    return found


def _growth(edit: Edit) -> int:
    before = edit.end_line - edit.start_line + 1
    return (0 if edit.after is None else edit.after.count("\n") + 1) - before


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
