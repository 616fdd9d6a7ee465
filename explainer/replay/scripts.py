"""Runs scripts of our own making in a clean process that has torch, and tells which error ended each."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from types import TracebackType
from typing import Any

from explainer.replay.confine import clone
from explainer.replay.confine.ready import ready
from explainer.replay.work import Stopwatch, longest

#: Seconds of work that importing torch may take, and that one script may.
IMPORTING, RUNNING = 120.0, 20.0
#: Bytes that a script may take beyond what the clean process holds.
MEMORY = 3 << 30


class CleanProcess:
    """A fresh interpreter that imports torch once and runs scripts one by one, each in a fork; a context manager.

    Where there is a `Keeper`, the interpreter is its child: of its end no handler of the user's is told.
    """

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {}
        #: Seconds of work that its scripts took.
        self.spent = 0.0
        environment = {**os.environ, "EXPLAINER": "0", "PYTHONDONTWRITEBYTECODE": "1"}
        if clone.unavailable() is not None:
            self._process: Any = subprocess.Popen(
                _command(0, 1), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                env=environment, cwd=tempfile.gettempdir(),
            )  # fmt: skip
            pipes: Any = self._process
            self._asking, self._answering = pipes.stdin.fileno(), pipes.stdout.fileno()
            return
        from explainer.replay.confine.keeper import Keeper

        (reading, self._asking), (self._answering, writing) = os.pipe(), os.pipe()
        handed = [reading, writing]
        try:
            self._process = Keeper(command=_command(*handed), environment=environment, handed=handed)
        finally:
            os.close(reading)
            os.close(writing)

    def __enter__(self) -> CleanProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        if clone.unavailable() is None:
            os.close(self._asking)
            os.close(self._answering)

    def about(self) -> dict[str, Any]:
        """`torch` and `python`, their versions, and `cuda`, whether it can be used; empty where torch is missing."""
        self.facts = self.facts or self._answer({"about": True}, IMPORTING) or {}
        return self.facts

    def run(self, script: str) -> dict[str, str] | None:
        """`type` and `message` of the error that ends a script, `type` empty where it ends well; None: no answer."""
        answer = self._answer({"script": script}, RUNNING) if self.about() else None
        if answer is None:
            return None
        ended, seconds = answer
        self.spent += seconds
        return ended

    def _answer(self, request: dict[str, Any], seconds: float) -> Any:
        try:
            _write(self._asking, json.dumps(request).encode() + b"\n")
            line = self._line(time.monotonic() + longest(seconds))
        except OSError:
            return None
        return json.loads(line) if line else None

    def _line(self, until: float) -> bytes:
        data = b""
        while not data.endswith(b"\n"):
            come = ready([self._answering], max(0.0, until - time.monotonic()))
            piece = os.read(self._answering, 1 << 16) if come else b""
            if not piece:
                return b""
            data += piece
        return data


def _command(reading: int, writing: int) -> list[str]:
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = f"import sys; sys.path[:] = [{root!r}, *filter(None, sys.path)]"
    return [sys.executable, "-c", f"{path}; from explainer.replay.scripts import serve; serve({reading}, {writing})"]


def _write(stream: int, data: bytes) -> None:
    while data:
        data = data[os.write(stream, data) :]


def serve(reading: int, writing: int) -> None:
    """In the clean process: answer requests, a line of JSON each, until there are no more."""
    requests, answers = os.fdopen(os.dup(reading)), os.fdopen(os.dup(writing), "w")
    os.dup2(2, 1)
    try:
        import torch
    except ImportError:
        torch = None  # type: ignore[assignment]
    for line in requests:
        request = json.loads(line)
        answer = _about(torch) if "about" in request else _run(request["script"])
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _about(torch: Any) -> dict[str, Any] | None:
    if torch is None:
        return None
    return {"torch": str(torch.__version__), "python": sys.version.split()[0], "cuda": bool(torch.cuda.is_available())}


def _run(script: str) -> Any:
    """How it ends, and its seconds of work, in a sandboxed fork; where there is none, as it is.

    The script is made of torch's own operators and numbers.
    """
    from explainer.replay.confine import sandbox

    if '"meta"' in script or "torch.optim" in script:
        _load_more()
    if sandbox.unavailable() is not None or "cuda" in script:
        work = Stopwatch()
        return _ended(script), work.seconds
    outcome = sandbox.run(lambda: _ended(script), deadline=RUNNING - 2, memory=MEMORY)
    return outcome.value, outcome.seconds


@functools.cache
def _load_more() -> None:
    """Make torch load what it needs for meta tensors and optimizers: that takes seconds, and a folder to write to."""
    import torch

    torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    try:
        torch.zeros(2, device="meta") + torch.zeros(3, 2)
    except RuntimeError:
        pass


def _ended(script: str) -> dict[str, str]:
    try:
        exec(compile(script, "repro.py", "exec"), {"__name__": "__main__"})
    except BaseException as error:
        return {"type": type(error).__name__, "message": str(error)}
    return {"type": "", "message": ""}
