"""One replay from end to end: windows tried in sandboxed children until one reaches the call that crashed."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

from explainer.replay import standin
from explainer.replay.confine import sandbox
from explainer.replay.reached import Reached
from explainer.replay.trial import at_once
from explainer.replay.window import Stopped, Window, windows
from explainer.userframes import is_user_file

if TYPE_CHECKING:
    from explainer.probes.scene import Scene

#: Why nothing is run again of a program that has no torch.
UNLOADED = "torch is not loaded in this process"
#: What recorders share: a context manager whose `result(roots)` is JSON data, None where it saw nothing.
Recorder = Any


def why_not(scene: Scene) -> str | None:
    """Why user code is not run again for this crash, in one line; None where it may be."""
    if not scene.options.replay:
        return "replay is switched off"
    if scene.user_frame is None:
        return "there is no live frame"
    if "torch" not in sys.modules:  # a child would import it first
        return UNLOADED
    return sandbox.unavailable()


def sandboxed(scene: Scene, work: Callable[[], Any], longest: float = float("inf")) -> Any:
    """What `work` hands back (JSON data) from a sandboxed child, within the scene's limits; None where nothing came.

    `longest`: seconds, where it may have less than what is left of the crash's time.
    """
    with scene.replaying():
        left, memory = min(longest, scene.seconds_left), scene.options.memory
        if left <= 0.05:
            return None
        outcome = sandbox.run(work, deadline=left, memory=memory, waiting=scene.waiting)
        scene.spent.add(outcome.seconds)
        return outcome.value
    return None


def replay(scene: Scene, recorder: Callable[[], Recorder]) -> Any:
    """What a recorder saw on the way to the backward call that crashed; None where no window got there.

    A recorder that has `settles` says whether a window beyond the innermost loop could show more than it saw.
    """
    if why_not(scene) is not None or scene.live is None:
        return None
    settles = getattr(recorder, "settles", lambda seen: True)
    found = None
    with scene.replaying():
        begun = sandbox.abreast(_attempts(scene, recorder), at_once(), lambda one: one[1].end())
        with closing(begun) as attempts:
            for window, child in attempts:
                outcome = child.outcome(waiting=scene.waiting)
                scene.spent.add(outcome.seconds / at_once())
                seen = outcome.value
                found = found if seen is None else seen
                if seen is not None and (window.loop or settles(seen)):
                    break
    return found


def _attempts(scene: Scene, recorder: Callable[[], Recorder]) -> Iterator[tuple[Window, sandbox.Child]]:
    """The windows, each with the child in which it runs, begun when it is asked for."""
    for window in windows(scene.live.user if scene.live is not None else []):
        left = scene.seconds_left
        if left <= 0.05:
            break
        attempt = functools.partial(_attempt, window, scene, recorder)
        yield window, sandbox.begin(attempt, deadline=left, memory=scene.options.memory)


def _attempt(window: Window, scene: Scene, recorder: Callable[[], Recorder]) -> Any:
    """In the child: run the window under the recorder, and ask it about the roots of the call that crashed."""
    import torch

    frame = scene.user_frame
    assert frame is not None
    torch.autograd.set_detect_anomaly(False)
    standin.resume()
    deepest = next(windows([frame]), None)
    lines = range(deepest.line, deepest.end_line + 1) if deepest else range(frame.line, frame.line + 1)
    recording = recorder()
    if hasattr(recording, "see"):
        recording.see(scene.live.user if scene.live else [])
    _stop_at(frame.file, lines, recording)
    roots = None
    try:
        with recording:
            window.run()
    except Reached as reached:
        roots = reached.roots
    except Stopped:
        return None
    if roots is None and hasattr(recording, "unreached"):
        return recording.unreached()
    return recording.result(roots) if roots is not None else None


def _stop_at(file: str, lines: range, recording: Recorder) -> None:
    """Make the engine raise `Reached` when it is called from these lines; other calls are told to `ran` and run.

    A helper's `loss.backward()` may serve several losses: a recorder that has `crashes` says which of them fails.
    """
    import torch

    crashes = getattr(recording, "crashes", lambda roots: True)
    ran = getattr(recording, "ran", None)
    home = torch.autograd if hasattr(torch.autograd, "_engine_run_backward") else None
    engine: Any = torch.autograd.Variable._execution_engine
    run = home._engine_run_backward if home is not None else engine.run_backward

    def guarded(outputs: Any, *args: Any, **kwargs: Any) -> Any:
        if _called_from(file, lines) and crashes(list(outputs)):
            raise Reached(list(outputs))
        kept = len(args) > 1 and args[1]  # retain_graph, which create_graph implies: such a call frees nothing
        if ran is not None and not kept:
            ran(list(outputs))
        return run(outputs, *args, **kwargs)

    if home is not None:
        home._engine_run_backward = guarded
    else:  # torch before 2.2; the engine's own attribute is read-only
        variable: Any = torch.autograd.Variable
        variable._execution_engine = _Engine(engine, guarded)


class _Engine:
    """The autograd engine with another `run_backward`."""

    def __init__(self, engine: Any, run_backward: Callable[..., Any]):
        self._engine, self.run_backward = engine, run_backward

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def _called_from(file: str, lines: range) -> bool:
    """Whether the innermost frame of the user's code stands at the lines."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if is_user_file(name):
            return name == file and frame.f_lineno in lines
        frame = frame.f_back
    return False
