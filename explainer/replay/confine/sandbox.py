"""The sandboxed child: runs a function in a clone of this process that can change nothing, and hands back data."""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, TypeVar

from explainer.frozen import frozen
from explainer.replay.confine.ready import ready
from explainer.replay.work import STARVED, Stopwatch

T = TypeVar("T")

_LARGEST = 8 << 20
#: Seconds between two calls of `waiting`.
_OFTEN = 0.1
_HEAD = struct.Struct("Q")
#: What of torch's keeps a process from being forked.
CUDA, GROUP = "CUDA is in use, and a fork cannot use it", "a process group is initialised"
THREADS = "torch has threads running"
#: Children that were told to end and may not have yet.
_ending: list[int] = []


@frozen
class Outcome:
    """What a child handed back: `value` is JSON data; `failed` says in one line why there is none.

    `late` where that is because it had not ended in time. `seconds` are those of its work (see `replay.work`).
    """

    value: Any = None
    failed: str | None = None
    seconds: float = 0.0
    late: bool = False


def unavailable(anew: bool = False) -> str | None:
    """Why user code cannot be run again in a child of this process, in one line; None where it can.

    `anew`: it is run from its start, for which a clean process can be had where a fork cannot use CUDA.
    """
    from explainer.replay.confine import clone, process, seccomp

    if process.inside:
        return None
    if clone.unavailable():
        return clone.unavailable()
    if not seccomp.available():
        return "this kernel offers no sandbox (seccomp)"
    why = _torch_in_the_way()
    return None if anew and why == CUDA else why


def _torch_in_the_way() -> str | None:
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    if torch.cuda.is_initialized():
        return CUDA
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return GROUP
    if any(_of_torch(thread) for thread in threading.enumerate()):
        return THREADS
    return None


def _of_torch(thread: threading.Thread) -> bool:
    """Whether torch started a thread (a loader's pin-memory thread, for one)."""
    target = getattr(thread, "_target", None)
    return str(getattr(target, "__module__", "")).split(".")[0] == "torch"


class Child:
    """A function at work in a sandboxed fork. Whoever begins one asks for its outcome or ends it."""

    def __init__(self, pid: int, pipe: int, deadline: float):
        self._pid, self._pipe, self._deadline, self._ended = pid, pipe, deadline, False
        self.work = Stopwatch(pid)

    def fileno(self) -> int:
        """What becomes readable when the child begins to answer."""
        return self._pipe

    def outcome(self, patience: float | None = None, waiting: Callable[[], None] | None = None) -> Outcome:
        """What the child hands back, at the latest at its deadline or after `patience` seconds more; it has ended then.

        `waiting` is called now and then meanwhile. KeyboardInterrupt ends the child and passes.
        """
        deadline = self._deadline
        if patience is not None:
            deadline = min(deadline, self.work.seconds + patience)
        try:
            data = _read(self._pipe, self.work, deadline, waiting)
        except BaseException:
            self.end()
            raise
        seconds, starved = self.work.seconds, self.work.starved(deadline)
        self.end(answered=data is not None)
        if data is None:
            late = f"no answer within {deadline:.3g} s" if seconds >= deadline else STARVED if starved else None
            return Outcome(None, late or "the child died", seconds, late is not None)
        value, failed, seconds = json.loads(data)
        return Outcome(value, failed, seconds)

    def end(self, answered: bool = False) -> None:
        """End the child and all it started, at once; one that has answered is only left to `reap`."""
        if not self._ended:
            self._ended = True
            os.close(self._pipe)
            _kill(self._pid)
            _ending.append(self._pid)
            reap(wait=not answered)


def run(
    function: Callable[[], Any],
    *,
    deadline: float = 2.0,
    memory: int = 1 << 30,
    waiting: Callable[[], None] | None = None,
    **more: Any,
) -> Outcome:
    """Call `function` in a sandboxed fork and hand back its result: `begin`, and wait."""
    return begin(function, deadline=deadline, memory=memory, **more).outcome(waiting=waiting)


def begin(
    function: Callable[[], Any],
    *,
    deadline: float = 2.0,
    memory: int = 1 << 30,
    writable: Sequence[str] = (),
    processes: bool = False,
) -> Child:
    """Start `function` in a sandboxed fork; its result is JSON data.

    `deadline` is in seconds of work, after which the child and all it started are killed; `memory` in bytes, beyond
    what this process holds. `writable` folders may be written to; without `processes` it cannot start any.
    Never raises for what the child does; OSError where there can be no more processes or descriptors.
    """
    from explainer.replay.confine import clone, compiler, early, pools  # noqa: F401 - here once, not in every child
    from explainer.replay.confine import process as confine

    reading, writing = os.pipe()
    try:
        with early.prepared(writing, writable=writable, processes=processes) as first:

            def work() -> None:
                confine.confine(writing, memory, deadline, writable=writable, processes=processes)
                first.settle()
                _ready()

            return Child(clone.begin(first.steps, lambda: _answer(writing, work, function)), reading, deadline)
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)


def abreast(begun: Iterator[T], at_once: int, end: Callable[[T], Any]) -> Generator[T, None, None]:
    """What is begun, in order, some of it at work at once; what is not asked for, or not to its end, is ended."""
    running: deque[T] = deque()
    try:
        for one in begun:
            running.append(one)
            if len(running) >= at_once:
                yield running[0]
                running.popleft()
        while running:
            yield running[0]
            running.popleft()
    finally:
        for one in running:
            end(one)


def _answer(pipe: int, ready: Callable[[], None], function: Callable[[], Any]) -> None:
    """In the child: get ready, run the function and write its result to the pipe."""
    work = Stopwatch()
    try:
        ready()
        answer = json.dumps([function(), None, work.seconds])
    except BaseException as error:
        answer = json.dumps([None, _said(error), work.seconds])
    _write(pipe, answer.encode())


def _ready() -> None:
    """Make libraries work on in one thread, and nothing be said or explained."""
    from explainer.replay.confine.pools import without_pools

    os.environ["EXPLAINER"] = "0"
    warnings.simplefilter("ignore")
    without_pools()
    if "torch" in sys.modules:
        from explainer.replay.confine.compiler import without_compiler

        without_compiler()


def _said(error: BaseException) -> str:
    try:
        text = " ".join(str(error).split())[:300]
    except BaseException:
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _write(pipe: int, data: bytes) -> None:
    data = _HEAD.pack(len(data)) + data
    while data:
        data = data[os.write(pipe, data) :]


def _read(pipe: int, work: Stopwatch, deadline: float, waiting: Callable[[], None] | None) -> bytes | None:
    """What the child wrote, whole; None where it died, came too late or wrote too much."""
    held = b""
    while len(held) < _HEAD.size or len(held) < _HEAD.size + min(_HEAD.unpack_from(held)[0], _LARGEST):
        left = 0.0 if work.starved(deadline) else max(0.0, deadline - work.seconds)
        come = ready([pipe], min(left, _OFTEN))
        if not come and left > 0.0:
            if waiting is not None:
                waiting()
            continue
        piece = os.read(pipe, 1 << 16) if come else b""
        if not piece:
            return None
        held += piece
    return held[_HEAD.size :] if len(held) == _HEAD.size + _HEAD.unpack_from(held)[0] else None


def _kill(pid: int) -> None:
    """End the child and its whole session."""
    for end in (os.killpg, os.kill):  # by its own id too: it may not have come as far as its own session
        try:
            end(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue


def reap(wait: bool = True) -> None:
    """Take note of children that have ended; with `wait`, of all that were told to.

    The kernel takes some 20 ms to take down a copy of a process that holds torch: time for the next one to begin.
    """
    from explainer.replay.confine.clone import ended

    _ending[:] = [pid for pid in _ending if not ended(pid, wait)]
