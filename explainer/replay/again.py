"""Runs the program from its start in this (sandboxed) process and tells how it went, as plain data."""

from __future__ import annotations

import importlib
import linecache
import os
import random
import struct
import sys
import tempfile
import traceback
import types
import warnings
from contextlib import suppress
from typing import Any

from explainer.oracle.gradients import left_at_the_end
from explainer.oracle.observer import Observer
from explainer.replay import standin
from explainer.replay.work import Stopwatch

#: The file in the program's copy that counts its optimizer steps; behind them: after how many a long run is over.
COUNT, STEPS = ".explain-steps", struct.Struct("Q")
#: A run of so many seconds of work is long; one that an observer watches always is.
_LONG = 0.5
#: Of how many models the parameters are noted.
_MOST = 50


class Enough(BaseException):
    """The program has taken as many optimizer steps as it was asked for, and long."""


def run(request: dict[str, Any], steps: str) -> dict[str, Any]:
    """Run the program of a request in its copy; `steps` is the file that counts optimizer steps.

    `exit` is 0 where it ran to the end, `error` the exception that ended it otherwise, `warnings` their texts, `input`
    the shapes of what the first module called was given, `parameters` its parameters' shapes, `ungraded` how many of
    them had no gradient at the end, `every` the shapes of all called models' parameters, `forwards` how many calls of
    modules returned, `seen` what `oracle.observer` saw.
    `record: true` adds what `recorders.recorder` saw, `record: "nonfinite"` what `recorders.nonfinite` did,
    `record: "data"` what `recorders.data` did,
    `record: "sieve"` how `changes` fared. `observer` names a module whose `Observer` watches the whole run: what it has
    `taken` is `observed`. `explain` names a module in `by`: what its `report_on` says of the error is `report`.
    `cuda` is what is to be played for a GPU (`standin`).
    """
    _enter(request)
    own = bool(request.get("observer"))  # which tells by the losses: the oracle would only slow it down
    notes = _Notes(steps, _observer(request), closely=not own)
    recorder = _recorder(request) if request.get("record") else None
    observer = importlib.import_module(request["observer"]).Observer(request) if request.get("observer") else None
    answer: dict[str, Any] = {"exit": 0, "error": None}
    failed: BaseException | None = None
    try:
        _run(request)
    except SystemExit as error:
        answer["exit"] = _status(error)
        failed = error if answer["exit"] else None
    except Enough:
        answer["exit"] = None
    except BaseException as error:
        failed = error
        answer.update(exit=1, error=_error(error, request))
        if recorder is not None:
            answer["recording"] = recorder.taken(error)
        if "explain" in request:
            answer["report"] = importlib.import_module(request["explain"]["by"]).report_on(error, request)
    observed = observer.taken() if observer is not None else None
    return {**answer, **notes.taken(), "seen": None if own else notes.observer.taken(failed), "observed": observed}


def _observer(request: dict[str, Any]) -> Observer:
    about = (request.get(name) for name in ("failed", "usual", "refused"))
    return Observer(request["folder"], request.get("edited") or {}, *about)


def _enter(request: dict[str, Any]) -> None:
    """Working directory, paths and arguments as the program had them, in its copy."""
    folder, original = request["folder"], request["original"]
    os.chdir(folder)
    os.environ.update(TMPDIR=folder, PYTHONDONTWRITEBYTECODE="1", MPLBACKEND="Agg", CUDA_VISIBLE_DEVICES="")
    tempfile.tempdir = None  # the clean process may have asked for it before
    sys.dont_write_bytecode = True
    random.seed(0)  # Python draws a new seed in each fork
    sys.path[:] = [_moved(path, original, folder) for path in request["path"]]
    if request["script"] is not None:
        first = os.path.dirname(os.path.join(folder, _relative(request["script"], original)))
        sys.path.insert(0, first)
    else:
        sys.path.insert(0, folder)
    if request.get("cuda"):
        standin.enter(request["cuda"])
    null = open(os.devnull, "w")  # noqa: SIM115
    sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = null  # type: ignore[misc]


def _run(request: dict[str, Any]) -> None:
    if request["module"] is not None:
        import runpy

        sys.argv = [request["module"], *request["argv"]]
        runpy.run_module(request["module"], run_name="__main__", alter_sys=True)
    elif request["script"] is not None:
        _run_script(request, _main())
    else:
        _run_cells([os.path.join(request["folder"], one) for one in request["cells"]], _main())


def _main() -> dict[str, Any]:
    """The names of a new module that is the script."""
    main = types.ModuleType("__main__")
    main.__builtins__ = __builtins__  # type: ignore[attr-defined]
    sys.modules["__main__"] = main
    return main.__dict__


def _run_script(request: dict[str, Any], names: dict[str, Any]) -> None:
    script = _relative(request["script"], request["original"])
    sys.argv = [request["script"], *request["argv"]]
    names["__file__"] = path = os.path.join(request["folder"], script)
    exec(_compiled(path), names)


def _run_cells(paths: list[str], names: dict[str, Any]) -> None:
    """Run a notebook's cells; an earlier one may have failed, too."""
    for path in paths[:-1]:
        with suppress(Exception):
            exec(_compiled(path), names)
    exec(_compiled(paths[-1]), names)


def _compiled(path: str) -> types.CodeType:
    """The script's code; where a recorder has changed how sources are compiled, compiled its way."""
    from importlib.machinery import SourceFileLoader

    loader = SourceFileLoader("__main__", path)
    return loader.source_to_code(loader.get_data(path), path)


def _recorder(request: dict[str, Any]) -> Any:
    if request["record"] == "nonfinite":
        from explainer.replay.recorders.nonfinite import Whole

        return Whole(request["folder"], request["original"])
    if request["record"] == "data":
        from explainer.replay.recorders.data import Data

        return Data(request["folder"], request["original"])
    if request["record"] == "sieve":
        from explainer.replay.sieve import Sieve

        return Sieve(request["folder"], request["changes"], request["enough"], request["deadline"])
    from explainer.replay.recorders.recorder import Recorder

    return Recorder(request["folder"], request.get("numbers", True))


class _Notes:
    """What is noted while the program runs: warnings, the first module's input, optimizer steps."""

    def __init__(self, steps: str, observer: Observer, closely: bool = True):
        self.observer, self._closely = observer, closely
        self._work = Stopwatch()
        self.warnings: list[str] = []
        self.input: list[Any] | None = None
        self.root: Any = None
        self.parameters: list[list[int]] = []
        self.roots: dict[int, Any] = {}  # held, so that no other object gets their identity
        self.every: dict[int, tuple[Any, list[int]]] = {}
        self.depth = 0
        self.count = 0
        self.forwards = 0
        self._file = os.open(steps, os.O_RDWR | os.O_CREAT, 0o600)
        warnings.simplefilter("default")
        warnings.showwarning = self._warned
        if "torch" in sys.modules:
            self._watch(sys.modules["torch"])

    def _watch(self, torch: Any) -> None:
        from torch.optim.optimizer import register_optimizer_step_post_hook

        from explainer.replay.confine.workers import without_workers

        if self._closely:
            self.observer.watch(torch)
        register_optimizer_step_post_hook(self._stepped)
        torch.nn.modules.module.register_module_forward_pre_hook(self._called)
        torch.nn.modules.module.register_module_forward_hook(self._passed)
        without_workers()

    def _stepped(self, *_: Any) -> None:
        self.count += 1
        os.pwrite(self._file, STEPS.pack(self.count), 0)
        if self.count >= self._enough() > 0 and (not self._closely or self._work.seconds > _LONG):
            raise Enough

    def _enough(self) -> int:
        asked = os.pread(self._file, STEPS.size, STEPS.size)
        return STEPS.unpack(asked)[0] if len(asked) == STEPS.size else 0

    def _passed(self, *_: Any) -> None:
        self.forwards += 1
        self.depth -= 1

    def _called(self, module: Any, given: tuple[Any, ...]) -> None:
        self.depth += 1
        if self.depth > 1 or id(module) in self.roots or len(self.roots) >= _MOST:
            return
        self.roots[id(module)] = module
        for one in module.parameters():
            if _known(one):
                self.every.setdefault(id(one), (one, list(one.shape)))
        if self.root is None:
            self._first(module, given)

    def _first(self, module: Any, given: tuple[Any, ...]) -> None:
        self.root = module
        self.input = [list(value.shape) if hasattr(value, "shape") else type(value).__name__ for value in given]
        self.parameters = [list(p.shape) for p in module.parameters() if _known(p)]

    def _warned(self, message: Any, category: type, *_: Any, **__: Any) -> None:
        self.warnings.append(f"{category.__name__}: {message}"[:300])
        self.observer.warning(self.warnings[-1])

    def taken(self) -> dict[str, Any]:
        """All of it, plain."""
        named = dict(self.root.named_parameters()) if self.root is not None else {}
        graded = {name for name, one in named.items() if one.grad is not None}
        left = left_at_the_end(named, graded)
        ungraded = sum(one.requires_grad and name not in graded | left for name, one in named.items())
        return {
            "warnings": self.warnings[:50],
            "input": self.input,
            "parameters": self.parameters,
            "every": [shape for _, shape in self.every.values()],
            "ungraded": ungraded,
            "steps": self.count,
            "forwards": self.forwards,
        }


def _known(parameter: Any) -> bool:
    return not type(parameter).__name__.startswith("Uninitialized")


def _error(error: BaseException, request: dict[str, Any]) -> dict[str, Any]:
    folder, original = request["folder"], request["original"]
    frames = [
        [_relative(_moved(frame.filename, folder, original), original), _line(frame), frame.name]
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.startswith(folder)
    ]
    message = str(error).replace(folder, original)
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(folder)]
    column = [getattr(own[-1], name, None) for name in ("colno", "end_colno")] if own else []
    behind = any(frame.name in ("backward", "grad") for frame in traceback.extract_tb(error.__traceback__))
    about = {"type": type(error).__name__, "message": message, "backward": behind}
    return {**about, "frames": frames[-20:], "column": column, "rest": _rest(own[-1]) if own else None}


def _rest(frame: traceback.FrameSummary) -> int | None:
    """How much stands behind the failing expression in its line: an edit within it does not change that."""
    end, line = getattr(frame, "end_colno", None), linecache.getline(frame.filename, frame.lineno or 0)
    one_line = getattr(frame, "end_lineno", None) == frame.lineno
    return len(line.rstrip().encode()) - end if end is not None and one_line and line else None


def _line(frame: traceback.FrameSummary) -> int:
    from explainer.replay.recorders import numbered

    return numbered.line(frame.filename, frame.lineno or 0)


def _status(error: SystemExit) -> int:
    if error.code is None:
        return 0
    return error.code if isinstance(error.code, int) else 1


def _moved(path: str, old: str, new: str) -> str:
    return new + path[len(old) :] if path == old or path.startswith(old + os.sep) else path


def _relative(path: str, folder: str) -> str:
    return os.path.relpath(os.path.join(folder, path), folder)
