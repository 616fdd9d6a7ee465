"""The clean process behind `replay.program`: torch imported, nothing run; forks a sandboxed child for every request."""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import signal
import socket
import struct
import sys
import time
from typing import Any

_HEAD = struct.Struct("I")
_PR_SET_PDEATHSIG = 1
_SIZE = _STEPS = struct.Struct("Q")


def main() -> None:
    """Serve requests on the socket whose descriptor is the first argument, with the modules of the second imported."""
    serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2].split(",") if sys.argv[2] else [])


def serve(line: socket.socket, modules: list[str]) -> None:
    """Serve requests until the socket is closed."""
    slow = _import(modules)
    while True:
        head, descriptors, _, _ = socket.recv_fds(line, _HEAD.size, 1)
        if not head:
            return
        request = json.loads(_exactly(line, _HEAD.unpack(head)[0]))
        if os.fork() == 0:
            line.close()
            _handle(request, descriptors[0], slow)
        os.close(descriptors[0])
        _reap()


def _import(modules: list[str]) -> float:
    """Import what the program had imported; how many times its processor time that took: what else the machine does."""
    started = time.monotonic(), time.process_time()
    for name in modules:
        try:
            importlib.import_module(name)
        except Exception:
            continue
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    return (time.monotonic() - started[0]) / max(time.process_time() - started[1], 0.1)


def _exactly(line: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = line.recv(size - len(data))
        if not piece:
            raise EOFError("the request broke off")
        data += piece
    return data


def _handle(request: dict[str, Any], descriptor: int, slow: float) -> None:
    """Run one request in a sandboxed child of this process, and answer."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
        from explainer.replay import again, sandbox

        steps = os.path.join(request["folder"], ".explain-steps")
        # Importing takes a moment that is not the program's.
        started = time.monotonic()
        outcome = sandbox.run(
            lambda: again.run(request, steps),
            deadline=request["deadline"],
            memory=request["memory"],
            writable=[request["folder"]],
            processes=True,
        )
        answer = {
            "value": outcome.value,
            "failed": outcome.failed,
            "steps": _steps(steps),
            "seconds": time.monotonic() - started,
            "slow": slow,
        }
        with socket.socket(fileno=descriptor) as line:
            data = json.dumps(answer).encode()
            line.sendall(_SIZE.pack(len(data)) + data)
        sandbox.reap()
    finally:
        os._exit(0)


def _steps(path: str) -> int:
    try:
        with open(path, "rb") as file:
            return _STEPS.unpack(file.read(_STEPS.size))[0]
    except (OSError, struct.error):
        return 0


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue
    except ChildProcessError:
        pass
