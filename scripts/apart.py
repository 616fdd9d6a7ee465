"""Makes calls in a forked child, because some wrong calls crash the process or never end."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

from explainer.crash import Frame, Raised

#: What is tried, by the name under which it is reported.
Call = tuple[str, Callable[[], Any]]
Calls = Callable[[], Iterator[Call]]
Outcome = tuple[str, Raised | None]
#: Seconds that one call may take.
SECONDS = 20


def raised(call: Callable[[], Any]) -> Raised | None:
    """The error that a call raises, with the files of its frames; None where it is accepted. Nothing is printed."""
    try:
        with warnings.catch_warnings(), open(os.devnull, "w") as null:
            warnings.simplefilter("ignore")
            with contextlib.redirect_stdout(null), contextlib.redirect_stderr(null):
                call()
    except SystemExit:
        return None
    except Exception as error:
        frames = tuple(Frame(at.filename, at.lineno or 0) for at in traceback.extract_tb(error.__traceback__))
        return Raised(type(error).__name__, str(error), frames)
    return None


def outcomes(calls: Calls, seconds: int = SECONDS) -> Iterator[Outcome]:
    """The name of every call and what it raised, None where it was accepted.

    A call that ends the child is left out, and the next child goes on behind it; `calls` must give the same ones again.
    """
    import torch

    torch.optim.SGD([torch.ones(1)], 0.1)  # imports torch's compiler here, once, and not in every child
    done = 0
    while True:
        rows, ended = child(calls, done, seconds)
        yield from rows
        done += len(rows) + 1
        if ended:
            return


def child(calls: Calls, skipped: int = 0, seconds: int = SECONDS) -> tuple[list[Outcome], bool]:
    """The outcomes in one child, from a call on, and whether it lived to the end of the list."""
    with tempfile.TemporaryFile("w+") as kept:
        pid = os.fork()
        if not pid:
            try:
                _make(islice(calls(), skipped, None), seconds, kept)
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        kept.seek(0)
        lines = kept.read().split("\n")[:-1]
    ended = lines[-1:] == ["end"]
    return [_read(line) for line in lines[: len(lines) - ended]], ended


def _make(calls: Iterator[Call], seconds: int, kept: IO[str]) -> None:
    """Writes the outcome of each call as a line of JSON, and "end" behind the last."""
    import torch

    torch.set_num_threads(1)  # the threads of the parent's pool are not here; waiting for them would never end
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what torch's C++ says at an abort
    signal.alarm(seconds)
    for name, call in calls:
        signal.alarm(seconds)
        error = raised(call)
        files = [frame.file for frame in error.frames] if error else []
        print(json.dumps([name, error and error.type, error and error.message, files]), file=kept, flush=True)
    print("end", file=kept, flush=True)


def _read(line: str) -> Outcome:
    name, kind, message, files = json.loads(line)
    return name, Raised(kind, message, tuple(Frame(file, 0) for file in files)) if kind else None


def limit(seconds: int, size: int) -> None:
    """Bounds this process: seconds of processor time, and bytes of address space beyond what it has; Linux only."""
    now = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (now + size, now + size))
