"""Trials in sandboxed forks of the crashed process: the statements up to the crash run again with the edit in force."""

from __future__ import annotations

import ast
import os
import time
from collections.abc import Iterable
from typing import Any

from explainer.diagnosis import Edit
from explainer.edits import words
from explainer.edits.candidate import Candidate
from explainer.edits.lines import applied
from explainer.frozen import frozen
from explainer.replay import run, sandbox
from explainer.replay.swap import module_namespaces, swap
from explainer.replay.trial import Verdict
from explainer.replay.window import Stopped, Window, window_of
from explainer.source import source_of

#: How many of the user's frames are tried, outermost first, until one's statements fail again as they did.
_FRAMES = 3


@frozen
class Stage:
    """The frame whose statements are run again, and what to call that."""

    frame: Any
    text: str
    until: float
    namespaces: tuple[dict[str, Any], ...] = ()


def try_in_process(scene: Any, candidates: Iterable[Candidate], check: str) -> list[Verdict]:
    """Verdicts on candidates; `level` is none where the statements cannot be run again as they failed.

    What `check: program` asks for (an edit of a constructor, of an earlier iteration) shows in a whole run only.
    """
    offered = list(candidates)
    if check == "program":
        return [Verdict(one, False, "", "none") for one in offered]
    stage = scene.once("stage", lambda: _stage(scene)) if offered and not run.why_not(scene) else None
    passed, failed = [], []
    for candidate in offered:
        held = _holds(scene, stage, candidate) if stage is not None else None
        if stage is not None and held:
            said = words.say(words.CALL_RAN, scene.options.language, call=stage.text)
            passed.append(Verdict(candidate, True, said, "forward"))
        else:
            failed.append(Verdict(candidate, False, "", "none" if held is None else "forward"))
    return passed + failed


def _stage(scene: Any) -> Stage | None:
    """The outermost frame whose statements, run again as they are, fail at the same statement."""
    until = time.monotonic() + scene.seconds_left
    frames = [names for live in scene.live.user for names in (live.frame.f_globals, live.locals)]
    namespaces = (*frames, *module_namespaces())
    for frame in _in_memory(scene.live)[:_FRAMES]:
        failing = frame.failing()
        text = " ".join(failing.span.code.split()) if failing is not None else ""
        stage = Stage(frame, text if 0 < len(text) <= 60 else frame.frame.f_code.co_name, until, namespaces)
        if _attempt(scene, stage, [], 0.5) is False:
            return stage
    return None


def _in_memory(live: Any) -> list[Any]:
    """The user's frames that led to the crash without running a file anew: from disk it would come unedited."""
    last = max((i for i, frame in enumerate(live.frames) if frame.frame.f_code.co_name == "<module>"), default=0)
    return [frame for frame in live.frames[last:] if frame.user]


def _holds(scene: Any, stage: Stage, candidate: Candidate) -> bool | None:
    return _attempt(scene, stage, list(candidate.edits))


def _attempt(scene: Any, stage: Stage, edits: list[Edit], share: float = 1.0) -> bool | None:
    """Whether the crash's statement runs with the edits, within a share of the time left; None where unknown."""
    left = (stage.until - time.monotonic()) * share
    if left < 0.05:
        return None
    outcome = sandbox.run(lambda: _child(stage, edits), deadline=left, memory=scene.options.memory)
    scene.wasted += outcome.wasted
    return outcome.value


def _child(stage: Stage, edits: list[Edit]) -> bool | None:
    """In the fork: put the edits in force, run the statements up to the crash, and see whether the last one fails."""
    frame = stage.frame
    for file, of_file in _by_file(edits, frame.file, stage.namespaces).items():
        old = "".join(line + "\n" for line in source_of(file).lines)
        if not swap(file, old, applied(old, of_file), stage.namespaces) and file != frame.file:
            return None
    if _unreached(frame, edits):
        return None
    above = [edit for edit in edits if _same(edit.file, frame.file) and edit.end_line < frame.line]
    window = window_of(_Moved(frame, frame.line + sum(map(_growth, above))))  # type: ignore[arg-type]
    return None if window is None else _runs(window)


def _unreached(frame: Any, edits: list[Edit]) -> bool:
    """Whether an edit of the script's own statements stands above those that are run again: it would not show."""
    if frame.frame.f_code.co_name != "<module>":
        return False
    window, source = window_of(frame), source_of(frame.file)
    first = window.tree.body[0].lineno if window is not None and window.tree.body else 0  # type: ignore[attr-defined]
    own = [edit.start_line for edit in edits if _same(edit.file, frame.file) and edit.start_line < first]
    return any(isinstance(source.statement_at(line), ast.Expr) and not source.function_at(line) for line in own)


def _runs(window: Window) -> bool | None:
    skipped: list[int] = []
    try:
        window.run(skipped.append)
    except Stopped:
        return None
    return window.line not in skipped


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
