"""The clean process behind `replay.program`: torch imported, nothing run; forks a sandboxed child for every request."""

from __future__ import annotations

import importlib
import json
import os
import socket
import struct
import sys
from contextlib import suppress
from typing import Any

from explainer.replay.confine.ready import ready

_HEAD = struct.Struct("I")
_SIZE = struct.Struct("Q")
#: Seconds at least between two looks at what is at work.
_OFTEN = 0.005
#: What goes before an answer that does not come as soon as was hoped: the size of no answer.
NOT_SOON = _SIZE.pack(0)


def main() -> None:
    """Serve requests on the socket whose descriptor is the first argument, with the modules of the second imported."""
    serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2].split(",") if sys.argv[2] else [])


def serve(line: socket.socket, modules: list[str]) -> None:
    """Serve requests, several at a time, until the socket is closed."""
    _import(modules)
    jobs: list[_Job] = []
    while True:
        left = min((job.left for job in jobs), default=None)
        waiting: list[Any] = [line, *jobs, *(job.line for job in jobs)]
        come = ready(waiting, left)
        for job in [one for one in jobs if one in come or one.over]:
            jobs.remove(job)
            job.answer()
        for job in [one for one in jobs if one.line in come]:  # nobody waits for it any more
            jobs.remove(job)
            job.leave()
        if line in come:
            request = _received(line)
            if request is None:
                return
            with suppress(OSError):  # its folder is gone by now, or there can be no more processes
                jobs.append(_Job(*request))


def _received(line: socket.socket) -> tuple[dict[str, Any], int] | None:
    """The next request and where its answer goes; None at the end."""
    head, descriptors, _, _ = socket.recv_fds(line, _HEAD.size, 1)
    return (json.loads(_exactly(line, _HEAD.unpack(head)[0])), descriptors[0]) if head else None


def _import(modules: list[str]) -> None:
    """Import what the program had imported."""
    for name in modules:
        try:
            importlib.import_module(name)
        except Exception:
            continue
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def _exactly(line: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = line.recv(size - len(data))
        if not piece:
            raise EOFError("the request broke off")
        data += piece
    return data


class _Job:
    """A request at work in a sandboxed child of this process."""

    def __init__(self, request: dict[str, Any], descriptor: int):
        from explainer.replay import again
        from explainer.replay.confine import sandbox

        self.line = socket.socket(fileno=descriptor)
        self._steps = os.path.join(request["folder"], again.COUNT)
        try:
            self._child = sandbox.begin(
                lambda: again.run(request, self._steps),
                deadline=request["deadline"],
                memory=request["memory"],
                writable=[request["folder"]],
                processes=True,
            )
        except BaseException:
            self.line.close()  # whoever waits for an answer is told that there is none
            raise
        self._deadline, self._soon = request["deadline"], request.get("soon")

    def fileno(self) -> int:
        """What becomes readable when the child answers."""
        return self._child.fileno()

    @property
    def left(self) -> float:
        """Seconds until it is to be looked at again; whoever wants it soon is told when it no longer comes soon."""
        done = self._child.work.seconds
        if self._soon is not None and done >= self._soon:
            self._soon = None
            with suppress(OSError):
                self.line.sendall(NOT_SOON)
        return max(_OFTEN, (self._deadline if self._soon is None else self._soon) - done)

    @property
    def over(self) -> bool:
        """Whether it has had its time."""
        work = self._child.work
        return work.seconds >= self._deadline or work.starved(self._deadline)

    def answer(self) -> None:
        """Hand on what the child answers; one that is late is ended."""
        outcome = self._child.outcome()
        answer = {"value": outcome.value, "failed": outcome.failed, "steps": _steps(self._steps)}
        data = json.dumps({**answer, "seconds": outcome.seconds}).encode()
        with self.line as line:
            try:
                line.sendall(_SIZE.pack(len(data)) + data)
            except OSError:  # nobody waits for it any more
                pass

    def leave(self) -> None:
        """End the child, whatever it is at."""
        self._child.end()
        self.line.close()


def _steps(path: str) -> int:
    from explainer.replay.again import STEPS

    try:
        with open(path, "rb") as file:
            return STEPS.unpack(file.read(STEPS.size))[0]
    except (OSError, struct.error):
        return 0
