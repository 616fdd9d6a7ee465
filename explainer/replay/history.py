"""The way of shapes through the function that crashed: its lines run again in a child, each new shape noted."""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, Any

from explainer.replay import run
from explainer.replay.window import Stopped, Window, window_of

if TYPE_CHECKING:
    from explainer.probes.scene import Scene

#: No replay for a history takes longer, in seconds: it illustrates, and decides nothing.
LONGEST = 0.6
#: Steps that are kept of one run of the function: a loop's early rounds give way to its last.
MOST = 200


def history(scene: Scene) -> list[dict[str, Any]]:
    """What the crashed function's tensors were, line by line, up to the crash; empty where no replay got there.

    Nor where one ends with other shapes than those that crashed: what a cache holds, it holds twice then.

    Each step has `line` (of the statement that made it; the function's own first line for what it was given), `name`
    and `shape`.
    """
    frame = scene.user_frame
    if frame is None or scene.live is None:
        return []
    user = scene.live.user
    # From its caller the function is called anew; run by itself, it would start with the values of its end.
    caller = user[-2] if len(user) > 1 and frame.frame.f_code.co_name != "<module>" else frame
    window = window_of(caller) or window_of(caller, whole=True)
    if window is None:
        return []
    work = lambda: _steps(window, frame.file, frame.frame.f_code, frame.line)  # noqa: E731
    steps = run.sandboxed(scene, work, LONGEST) or []
    ends = {step["name"]: step["shape"] for step in steps}
    return steps if all(_was(frame.frame.f_locals.get(name), shape) for name, shape in ends.items()) else []


def _was(value: Any, shape: list[int]) -> bool:
    """Whether a local of the crashed frame has a shape, or none that could be told."""
    held = getattr(value, "shape", None)
    return not isinstance(held, tuple) or list(held) == shape


def _steps(window: Window, file: str, code: types.CodeType, line: int) -> list[dict[str, Any]] | None:
    """In the child: the steps of the last run of the function that came to the line of the crash."""
    import torch

    tracer = Tracer(file, code, line, torch.Tensor)
    sys.settrace(tracer.enter)
    try:
        window.run()
    except Stopped:
        return None
    finally:
        sys.settrace(None)
    return tracer.arrived


class Tracer:
    """Watches one function, or the window's own statements where the crash lies in them."""

    def __init__(self, file: str, code: types.CodeType, line: int, kind: type):
        self.file, self.code, self.line, self.kind = file, code, line, kind
        self.steps: list[dict[str, Any]] = []
        self.known: dict[str, tuple[int, tuple[int, ...]]] = {}
        self.before = code.co_firstlineno
        self.arrived: list[dict[str, Any]] | None = None

    def enter(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        """The trace function of a new frame; None for those that are not watched."""
        own = frame.f_code
        of_window = own.co_filename == self.file and own.co_name == "<module>"
        # Not the code object itself: a class statement that runs again makes another.
        if _place(own) != _place(self.code) and not of_window:
            return None
        self.steps, self.known, self.before = [], {}, frame.f_lineno
        if of_window:
            held = frame.f_locals.items()
            self.known = {name: self._state(value) for name, value in held if type(value) is self.kind}
        return self.step

    def step(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        """The trace function of a watched frame: what changed is the doing of the line before."""
        if event in ("line", "exception"):
            self._note(frame.f_locals)
            self.before = frame.f_lineno
            if event == "line" and frame.f_lineno == self.line:
                self.arrived = self.steps[-MOST:]
        return self.step

    def _note(self, names: dict[str, Any]) -> None:
        for name, value in list(names.items()):
            if type(value) is not self.kind:
                continue
            now = self._state(value)
            if self.known.get(name) != now:
                self.known[name] = now
                self.steps.append({"line": self.before, "name": name, "shape": list(now[1])})

    @staticmethod
    def _state(value: Any) -> tuple[int, tuple[int, ...]]:
        return id(value), tuple(value.shape)


def _place(code: types.CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_name, code.co_firstlineno
