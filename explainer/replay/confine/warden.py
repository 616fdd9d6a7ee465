"""A process beside a sandbox that lets signals through to the processes inside, where Landlock does not (before 6).

A filter of system calls sees a number, and no filter knows the numbers of children to come. All that is inside is of
one session, which nobody else can enter and nobody inside can leave: the warden is asked about each signal, and looks
whether its target is of that session.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import signal
import socket
import struct

# linux/seccomp.h
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_ASKED, _ANSWER = struct.Struct("QII iIQ 6Q"), struct.Struct("Qq iI")
_GO_ON = 1
_CLONE = {"x86_64": 56, "aarch64": 220}
_PR_SET_PDEATHSIG = 1


class Warden:
    """The line to a warden that waits for what it is to listen to. It dies with the process that made it.

    Raises OSError where no process can be started.
    """

    def __init__(self, keep: int):
        self._mine, theirs = socket.socketpair()
        session, pid = os.getpid(), _fork()
        if pid == 0:
            try:
                os.close(keep)
                self._mine.close()
                _watch(theirs, session)
            finally:
                os._exit(0)
        theirs.close()
        if pid < 0:
            self._mine.close()
            raise OSError("no process could be started")

    def listen(self, listener: int) -> None:
        """Hand over the descriptor through which the kernel asks, and let go of the warden."""
        with self._mine:
            if listener >= 0:
                socket.send_fds(self._mine, [b"!"], [listener])
                os.close(listener)


def _fork() -> int:
    """A fork that no hook sees and whose end sends no signal: the program waits for its own children only."""
    zero = ctypes.c_long(0)
    pid: int = ctypes.PyDLL(None).syscall(ctypes.c_long(_CLONE[platform.machine()]), zero, zero, zero, zero, zero)
    return pid


def _watch(line: socket.socket, session: int) -> None:
    os.setpgid(0, 0)  # what the program sends to its own group is not for the warden
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
    _, descriptors, _, _ = socket.recv_fds(line, 1, 1)
    while descriptors and os.getppid() == session:
        asked = bytearray(_ASKED.size)
        try:
            fcntl.ioctl(descriptors[0], _RECEIVE, asked)
            number, target = _ASKED.unpack(asked)[0], _ASKED.unpack(asked)[6]
            fcntl.ioctl(descriptors[0], _SEND, _answer(number, target, session))
        except OSError:  # who asked is gone
            continue


def _answer(number: int, target: int, session: int) -> bytes:
    try:
        inside = os.getsid(target) == session and target != os.getpid()
    except (OSError, OverflowError):
        return _ANSWER.pack(number, 0, -errno.ESRCH, 0)
    return _ANSWER.pack(number, 0, 0, _GO_ON) if inside else _ANSWER.pack(number, 0, -errno.EPERM, 0)
