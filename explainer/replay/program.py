"""The whole program again: each trial in a sandboxed child of a clean process, in a copy of the program's files."""

from __future__ import annotations

import json
import math
import os
import selectors
import socket
import struct
import sys
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from explainer.frozen import frozen
from explainer.replay import standin
from explainer.replay.again import COUNT, STEPS
from explainer.replay.confine.compiler import compiles
from explainer.replay.confine.copies import Copies
from explainer.replay.confine.keeper import Keeper
from explainer.replay.confine.scratch import Scratch
from explainer.replay.forked import Forked, forked
from explainer.replay.work import STARVED, kept_waiting, longest
from explainer.replay.zygote import NOT_SOON
from explainer.userframes import is_user_file

_HEAD = struct.Struct("I")
#: In front of an answer: its length. The end of the line comes later, when the kernel has taken the child down.
_SIZE = struct.Struct("Q")
#: Seconds on the wall that a clean process may take to start.
_STARTING = 120.0
#: Of the memory that is free a run may have one part in so many, where it stands for that of a GPU.
_SHARE = 4
#: How many files, and bytes, are copied where the limits of a replay leave no time for more.
_FEW = 200, 2 << 20
#: Packages that take long to import: the clean process imports those that the crashed program had.
_HEAVY = (
    "torch",
    "torchvision",
    "torchaudio",
    "numpy",
    "scipy",
    "sklearn",
    "pandas",
    "transformers",
    "matplotlib",
    "PIL",
    "tqdm",
    "einops",
    "timm",
    "lightning",
    "pytorch_lightning",
    "yaml",
)
#: What comes with torch's compiler, and would bring it.
_WITH_COMPILER = ("torch._", "torch.distributed", "torch.onnx")


@frozen
class Program:
    """What `explain run` started: a script or a module, its arguments, the working directory at the start.

    `started` is how many seconds of work before the crash the program was started. `warm`: it is run again in forks of
    the crashed process (of a clean one where that uses CUDA), within the limits of a replay. `cells` are the files of a
    notebook's, in their order: those before the last may fail.
    """

    script: str | None
    module: str | None = None
    argv: tuple[str, ...] = ()
    folder: str = "."
    started: float = 0.0
    warm: bool = False
    cells: tuple[str, ...] = ()


def script(begun: float) -> Program | None:
    """The script that this process runs, to be tried again in forks of it; None for a shell, a test run, a rank.

    None for a child too: its work is not the script's own.

    `begun` is when the hook was installed (monotonic seconds).
    """
    main = sys.modules.get("__main__")
    file = getattr(main, "__file__", None) or sys.argv[0]  # Python takes the name away as the program ends
    spec = getattr(main, "__spec__", None)
    if not file or not os.path.isfile(file) or not is_user_file(file) or "RANK" in os.environ:
        return None
    processes = sys.modules.get("multiprocessing.process")
    if processes is not None and processes.parent_process() is not None:
        return None
    started, here = time.monotonic() - begun - kept_waiting(), os.getcwd()
    if spec is not None and spec.name:
        return Program(None, spec.name.removesuffix(".__main__"), tuple(sys.argv[1:]), here, started, warm=True)
    return Program(os.path.abspath(file), None, tuple(sys.argv[1:]), here, started, warm=True)


@frozen
class Run:
    """What a run of the program showed: see `replay.again`. `failed` says why there is no answer at all.

    `seconds` are those of its work (see `replay.work`).
    """

    answer: Mapping[str, Any]
    failed: str | None
    steps: int
    seconds: float

    @property
    def ended(self) -> bool:
        """Whether it ran to the end and exited with status 0."""
        return self.failed is None and self.answer.get("exit") == 0

    @property
    def error(self) -> Mapping[str, Any]:
        """The exception that ended it: type, message, place; empty where there was none."""
        return self.answer.get("error") or {}


class Session:
    """A clean process that has torch imported, and the copies of one program's files; a context manager.

    In all runs the files in `texts` hold these. The clean process imports the modules in `also` besides. The error's
    `message` tells how much memory a GPU has, where that was used up.
    """

    def __init__(
        self,
        program: Program,
        memory: int = 4 << 30,
        texts: Mapping[str, str] | None = None,
        also: Sequence[str] = (),
        message: str = "",
    ):
        from explainer.replay.confine import sandbox

        self.program = program
        self.texts = texts or {}
        self.memory = memory
        self._cuda = standin.described(message)
        if self._cuda and self._cuda.get("room"):
            self.memory = max(memory, min(self._cuda["room"], _free() // _SHARE))
        scratch = Scratch()
        try:
            fork = program.warm and sandbox.unavailable() != sandbox.CUDA
            zygote, self._line = _shared or (forked(scratch.path) if fork else _started([*sorted(_imported()), *also]))
        except BaseException:
            scratch.remove()
            raise
        self._copies = Copies(program.folder, scratch.path, *(_FEW if program.warm else ()))
        self._end = weakref.finalize(self, _ended, None if _shared else zygote, self._line, scratch, os.getpid())

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the clean process and remove the copies; also done when the session is forgotten."""
        self._end()

    def begin(self, texts: Mapping[str, str], deadline: float, **extra: Any) -> Trial:
        """Start the program with some files' texts replaced (paths relative to the program's folder).

        `deadline` is in seconds of work. `soon=seconds` lets `Trial.soon` tell whether it ends within those.
        """
        folder = self._copies.make({**self.texts, **texts})
        program = self.program
        request = {
            "script": program.script,
            "module": program.module,
            "argv": list(program.argv),
            "cells": list(program.cells),
            "folder": folder,
            "original": os.path.abspath(program.folder),
            "path": list(sys.path),
            "deadline": deadline,
            "memory": self.memory,
            "cuda": self._cuda,
            **extra,
        }
        mine, theirs = socket.socketpair()
        data = json.dumps(request).encode()
        socket.send_fds(self._line, [_HEAD.pack(len(data))], [theirs.fileno()])
        self._line.sendall(data)
        theirs.close()
        return Trial(mine, folder, self._copies, deadline)

    def run(self, texts: Mapping[str, str], deadline: float, **extra: Any) -> Run:
        """Run the program with some files' texts replaced, and wait for it."""
        return self.begin(texts, deadline, **extra).wait()


class Trial:
    """A run that is under way."""

    def __init__(self, line: socket.socket, folder: str, copies: Copies, deadline: float):
        self.line = line
        self._folder = folder
        self._copies = copies
        self._data = b""
        self.began = time.monotonic()
        self._longest = _STARTING + longest(deadline)
        self._soon, self._starved = True, False
        self._run: Run | None = None

    def soon(self) -> bool:
        """Whether it ends as soon as was asked for (`soon` of `Session.begin`): waits until that is known."""
        return self._ends(lambda: not self._soon)

    def _ends(self, otherwise: Callable[[], bool] = lambda: False, most: float = math.inf) -> bool:
        """Wait until it has ended, something else is so, or it takes far too long; whether it has ended."""
        until = time.monotonic() + min(self._longest, most)
        with selectors.DefaultSelector() as ready:
            if self._run is None:
                ready.register(self.line, selectors.EVENT_READ)
            while self._run is None and not otherwise():
                if not ready.select(max(0.0, until - time.monotonic())):
                    self._starved = True
                    return False
                if self.read():
                    self.done()
        return self._run is not None

    def limit(self, steps: int) -> None:
        """Let it end after so many optimizer steps, where it is long; 0: at its end."""
        if self._run is None:
            with open(os.open(os.path.join(self._folder, COUNT), os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
                os.pwrite(file.fileno(), STEPS.pack(steps), STEPS.size)

    def wait(self, most: float = math.inf) -> Run:
        """The run, when it has ended; without an answer where that takes more than so many seconds by the clock."""
        self._ends(most=most)
        return self.done()

    def read(self) -> bool:
        """Take what has come; True where the answer is whole."""
        piece = self.line.recv(1 << 16)
        self._data += piece
        if self._data.startswith(NOT_SOON):
            self._soon, self._data = False, self._data[len(NOT_SOON) :]
        return not piece or len(self._data) >= _SIZE.size + self._size()

    def _size(self) -> int:
        return _SIZE.unpack_from(self._data)[0] if len(self._data) >= _SIZE.size else 1

    def done(self) -> Run:
        """The answer; ends the run where there is none yet, and removes its files."""
        if self._run is None:
            self._run = self._taken()
        return self._run

    def _taken(self) -> Run:
        self.line.close()
        self._copies.remove(self._folder)
        try:
            answer = json.loads(self._data[_SIZE.size :])
        except ValueError:
            return Run({}, STARVED if self._starved else "the run gave no answer", 0, 0.0)
        return Run(answer["value"] or {}, answer["failed"], answer["steps"], answer["seconds"])


def _free() -> int:
    """Bytes of memory that nothing uses."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def unavailable(program: Any) -> str | None:
    """Why a program cannot be run again whole, in one line; None where it can."""
    if program is None:
        return "the program was not started by `explain run`"
    if not sys.platform.startswith("linux"):
        return "there is no sandbox for this system"
    from explainer.replay.confine import landlock, process, seccomp

    if not process.inside and (not landlock.abi() or not seccomp.available()):
        return "this kernel offers no sandbox that leaves one folder writable (Landlock)"
    folder, script = os.path.realpath(program.folder), program.script
    if script is not None and not os.path.realpath(os.path.join(folder, script)).startswith(folder + os.sep):
        return "the script lies outside the working directory"
    return None


_shared: tuple[Keeper, socket.socket] | None = None


@contextmanager
def one_clean_process() -> Iterator[None]:
    """Sessions that begin inside share one clean process, which has imported what this one has by now."""
    global _shared
    _shared = _started(sorted(_imported()))
    try:
        yield
    finally:
        _ended(*_shared, None, os.getpid())
        _shared = None


def _ended(zygote: Keeper | Forked | None, line: socket.socket, scratch: Scratch | None, owner: int) -> None:
    """End a clean process, unless others share it, and remove the copies; not in a child that the program forked."""
    if owner != os.getpid():
        return
    if zygote is not None:
        line.close()
        zygote.kill()
        zygote.wait()
    if scratch is not None:
        scratch.remove()


def _imported() -> set[str]:
    """The heavy modules that this process has imported, those of torch's compiler only where it was at work."""
    heavy = {name for name in sys.modules if name.split(".")[0] in _HEAVY and name.count(".") < 3}
    return heavy if compiles() else {name for name in heavy if not name.startswith(_WITH_COMPILER)}


def _started(modules: Sequence[str]) -> tuple[Keeper, socket.socket]:
    """The clean process and the line to it."""
    mine, theirs = socket.socketpair()
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    # Without "": the working directory here is one that everybody can put files into.
    path = f"import sys; sys.path[:] = [{root!r}, *filter(None, sys.path)]"
    code = f"{path}; from explainer.replay.zygote import main; main()"
    environment = {**os.environ, "EXPLAINER": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", code, str(theirs.fileno()), ",".join(modules)]
    try:
        return Keeper(command=command, environment=environment, handed=[theirs.fileno()]), mine
    except BaseException:
        mine.close()
        raise
    finally:
        theirs.close()
