"""Runs a script or module in this process as `python` would: names, paths, frames and exit status are its own."""

from __future__ import annotations

import builtins
import importlib.machinery
import io
import os
import sys
import time
import types
from dataclasses import dataclass, field
from typing import Any

from explainer.cli import Complaint
from explainer.hooks import process

#: The module that was `__main__` before; it must outlive the program, for its functions are still running.
_before: list[types.ModuleType] = []


@dataclass(frozen=True)
class Target:
    """What to run: a script's path or a module's name, its arguments, the folder in which it was started."""

    name: str
    module: bool
    arguments: tuple[str, ...]
    folder: str
    started: float = field(default_factory=time.monotonic)

    def check(self) -> None:
        """Raise a `Complaint` for a script that is not there (a module that is not there is Python's to report)."""
        if self.module:
            return
        if self.name == "-":
            raise Complaint("run needs a file; it does not read a program from standard input")
        if not os.path.exists(self.name):
            raise Complaint(f"there is no file {self.name}")
        if os.path.isdir(self.name) and not os.path.exists(os.path.join(self.name, "__main__.py")):
            raise Complaint(f"{self.name} is a folder without a __main__.py")
        if not os.access(self.name, os.R_OK):
            raise Complaint(f"{self.name} cannot be read")

    def program(self) -> Any:
        """What the replay needs to run the whole program again; asked for after a crash."""
        from explainer.replay.program import Program
        from explainer.replay.work import kept_waiting

        script, module = (None, self.name) if self.module else (self.name, None)
        return Program(script, module, self.arguments, self.folder, time.monotonic() - self.started - kept_waiting())


def go(target: Target, settings: process.Settings) -> int:
    """Run it. Its exceptions, SystemExit too, leave through here: the exit status is the interpreter's doing."""
    if os.environ.get("EXPLAINER") != "0":
        process.start(settings)
    try:
        _run(target)
    except BaseException as error:
        if isinstance(error, SystemExit):
            _explain_swallowed(error)
            if os.environ.get("EXPLAINER_JOB"):
                from explainer.hooks import launcher

                launcher.exited(error)
        if process.settings is not None:
            process.start(process.settings)  # the program may have put its own hook over ours
        sys.excepthook = _Cut(sys.excepthook)
        raise
    return 0


def _explain_swallowed(end: SystemExit) -> None:
    """Explain the error that a library (hydra) printed itself before it ended the program."""
    error, step = end.__context__, end.__traceback__
    while step is not None and step.tb_next is not None and not process.is_ours(step.tb_next.tb_frame):
        step = step.tb_next
    if step is not None and error is not None:
        process.swallowed(error, step.tb_frame)


class _Cut:
    """The outermost hook at the end: takes our frames off the traceback before any other hook sees it."""

    def __init__(self, hook: Any):
        self.hook = hook

    def __call__(self, kind: type, error: BaseException, traceback: types.TracebackType | None) -> None:
        own = _below_us(traceback)
        self.hook(kind, error.with_traceback(own), own)


def _below_us(traceback: types.TracebackType | None) -> types.TracebackType | None:
    """What follows this module's last step in a traceback; None for a script that does not compile."""
    own = step = traceback
    while step is not None:
        if step.tb_frame.f_code.co_filename == __file__:
            own = step.tb_next
        step = step.tb_next
    return own


def _run(target: Target) -> None:
    main = _fresh_main()
    sys.argv = ["-m" if target.module else target.name, *target.arguments]
    if target.module:
        _set_path(target.folder)
        _runpy()._run_module_as_main(target.name)
    elif os.path.isdir(target.name) or target.name.endswith((".zip", ".pyz")):
        _set_path(os.path.abspath(target.name))
        _runpy()._run_module_as_main("__main__", False)
    else:
        _set_path(os.path.dirname(os.path.realpath(target.name)))
        exec(_compiled(target.name, main), main.__dict__)


def _fresh_main() -> types.ModuleType:
    """A new `__main__` with what the interpreter puts into it."""
    main = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __annotations__={})
    _before.append(sys.modules["__main__"])
    sys.modules["__main__"] = main
    return main


def _compiled(script: str, main: types.ModuleType) -> types.CodeType:
    """The script's code; `__main__` learns where it comes from."""
    path = os.path.abspath(script)
    loader = importlib.machinery.SourceFileLoader("__main__", path)
    main.__dict__.update(__file__=path, __cached__=None, __loader__=loader)
    with io.open_code(path) as file:
        return compile(file.read(), path, "exec", dont_inherit=True)


def _set_path(first: str) -> None:
    """Replace the entry that the interpreter made for us (where it made one) by the program's."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path[:1] = [first]


def _runpy() -> Any:
    import runpy

    return runpy
