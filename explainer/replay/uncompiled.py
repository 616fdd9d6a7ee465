"""An error of compiled code, raised again without the compiler: there it has the user's line, operands and layers.

`torch.compile` and `torch.jit.script` run what the user wrote on stand-ins or outside of Python. The statements of the
crash run again in a sandboxed child in which both leave the code as it is; what they raise there is explained there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from explainer.diagnosis import Edit
from explainer.replay import inprocess
from explainer.replay.confine import sandbox
from explainer.replay.given import module_namespaces
from explainer.replay.stages import Stage
from explainer.replay.window import Stopped, Window, windows

#: Seconds for the explanation in the child, and for one edit.
_EXPLAINING, _TRYING = 10.0, 5.0
Explain = Callable[[BaseException, Any], Any]


def is_of_compiled_code(error: BaseException | None) -> bool:
    """Whether an error came out of torch.compile's tracing or TorchScript's interpreter."""
    if error is None:
        return False
    scripted = isinstance(error, RuntimeError) and "TorchScript interpreter" in str(error)
    return type(error).__module__.startswith(("torch._dynamo", "torch._inductor")) or scripted


def explained(live: Any, explain: Explain) -> Any:
    """What `explain` (JSON data) says of the error without the compiler; None where nothing fails so, or no sandbox."""
    if sandbox.unavailable() is not None or not _can_leave_it_out():
        return None
    for window in windows(live.user):
        found = sandbox.run(partial(_explained, window, explain), deadline=_EXPLAINING).value
        if found is not None:
            return found
    return None


def holds(live: Any, edits: tuple[Edit, ...]) -> str | None:
    """The source of what runs with these edits without the compiler; None where nothing does."""
    names = [names for one in live.user for names in (one.frame.f_globals, one.locals)]
    for frame in live.user:
        failing = frame.failing()
        stage = Stage(frame, failing.span.code if failing else "", (*names, *module_namespaces()))
        if sandbox.run(partial(_holds, stage, edits), deadline=_TRYING).value is True:
            return " ".join(stage.text.split())
    return None


def _can_leave_it_out() -> bool:
    torch: Any = sys.modules.get("torch")
    return hasattr(getattr(torch, "compiler", None), "set_stance")  # torch 2.6


def _leave_it_out() -> None:
    """In the child: compiled functions and modules run as they were written, scripting hands back what it is given."""
    torch: Any = sys.modules["torch"]
    torch.compiler.set_stance("force_eager")
    torch.jit._state.disable()


def _explained(window: Window, explain: Explain) -> Any:
    errors: list[BaseException] = []

    def failed(line: int) -> None:
        error = sys.exc_info()[1]
        if error is not None and window.line <= line <= window.end_line:
            errors.append(error)

    _leave_it_out()
    try:
        window.run(failed)
    except Stopped:
        return None
    if not errors or is_of_compiled_code(errors[-1]):
        return None
    traceback = errors[-1].__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename != window.frame.file:
        traceback = traceback.tb_next
    return explain(errors[-1], traceback)


def _holds(stage: Stage, edits: tuple[Edit, ...]) -> bool:
    _leave_it_out()
    return inprocess._child(stage, list(edits)) is True
