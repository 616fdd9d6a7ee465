"""A process that lives a moment longer than its owner: then it removes a folder and ends a process that it started.

However the owner ends, by SIGKILL too, the kernel closes its end of a pipe, for which the keeper waits. It is a clone
of the owner that runs no Python at all (see `confine.clone`): it cannot run the user's code and needs no confinement,
and what it starts is its own child, of which the owner's handlers and waits are not told.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from explainer.replay.confine import clone, early
from explainer.replay.confine.clone import Step, step

#: POSIX_SPAWN_SETSIGDEF, POSIX_SPAWN_SETSIGMASK of spawn.h
_SPAWN_FLAGS = 0x04 | 0x08
_F_SETFD, _WALL, _SIG_SETMASK = 2, 0x40000000, 2
#: Bytes that hold what glibc and musl keep in a sigset_t, and in a posix_spawnattr_t.
_SIGNALS, _ATTRIBUTES = 128, 512
#: Microseconds after which a folder is removed again that something wrote to while it was being removed.
_AGAIN = 200_000
_REMOVE = "import shutil, sys; shutil.rmtree(sys.argv[1], ignore_errors=True)"


class Keeper:
    """Keeps `folder` and the process of `command`, or one of them, until `kill` or the end of this process.

    `lease` is a descriptor that it holds meanwhile, `handed` those that the command gets. OSError where there can be
    no more processes or descriptors.
    """

    def __init__(
        self,
        folder: str | None = None,
        lease: int | None = None,
        command: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        handed: Sequence[int] = (),
    ):
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            reading, self._pipe = os.pipe()
        except OSError:
            os.close(null)
            raise
        try:
            kept = {reading, null, *handed, *(() if lease is None else (lease,))}
            first = _alone(null, kept)
            keep = _Kept(reading)
            if command:
                first += keep.started(command, environment or {}, handed)
            if folder is not None:
                keep.removed(folder)
            steps = [*first, *keep.steps, step(clone.function("_exit", None, ctypes.c_int), 0)]
            self.pid = clone.begin([clone.all_of(steps)], int)
        except BaseException:
            os.close(self._pipe)
            raise
        finally:
            os.close(reading)
            os.close(null)

    def kill(self) -> None:
        """Let it do its work; `wait` waits until that is done."""
        if self._pipe >= 0:
            with suppress(OSError):  # it is gone
                os.write(self._pipe, b".")
            os.close(self._pipe)
            self._pipe = -1

    def wait(self) -> None:
        """Wait until it has ended."""
        clone.ended(self.pid)


def _alone(null: int, kept: set[int]) -> list[Step]:
    """The steps that cut a clone off: no signals but SIGKILL, a session and a folder of its own, few descriptors."""
    full = _signals(True)
    mask = clone.function("pthread_sigmask", ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    dup2 = clone.function("dup2", ctypes.c_int, ctypes.c_int, ctypes.c_int)
    close = clone.function("close", ctypes.c_int, ctypes.c_int)
    chdir = clone.function("chdir", ctypes.c_int, ctypes.c_char_p)
    return [
        step(mask, _SIG_SETMASK, full, None),
        step(clone.function("setsid", ctypes.c_int)),
        step(chdir, os.fsencode(tempfile.gettempdir())),
        *(step(dup2, null, one) for one in range(3)),
        *(step(close, one) for one in early.descriptors() if one > 2 and one not in kept),
    ]


class _Kept:
    """What is to be done when the owner has ended, in order."""

    def __init__(self, pipe: int):
        self._wait = step(
            clone.function("waitpid", ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_int), -1, None, _WALL
        )
        read = clone.function("read", ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
        self.steps = [step(read, pipe, ctypes.create_string_buffer(1), 1)]

    def started(self, command: Sequence[str], environment: Mapping[str, str], handed: Sequence[int]) -> list[Step]:
        """The steps that start a process, which is ended first of all."""
        number = ctypes.c_int(0)
        kill = clone.function("kill", ctypes.c_int, ctypes.c_int, ctypes.c_int)
        self.steps += [step(kill, number, signal.SIGKILL), self._wait]
        fcntl = clone.function("fcntl", ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int)
        close = clone.function("close", ctypes.c_int, ctypes.c_int)
        return [
            *(step(fcntl, one, _F_SETFD, 0) for one in handed),
            _spawned(command, environment, number),
            *(step(close, one) for one in handed),
        ]

    def removed(self, folder: str) -> None:
        """Remove a folder; once more where it is still there, for what writes to it may be about to end as well."""
        remove = [_spawned(_remover(folder), {}, ctypes.c_int(0)), self._wait]
        access = clone.function("access", ctypes.c_int, ctypes.c_char_p, ctypes.c_int)
        usleep = clone.function("usleep", ctypes.c_int, ctypes.c_uint)
        there = step(access, os.fsencode(folder), os.F_OK)
        self.steps.append(clone.row([*remove, there, step(usleep, _AGAIN), *remove]))


def _remover(folder: str) -> list[str]:
    for path in ("/bin/rm", "/usr/bin/rm"):
        if os.access(path, os.X_OK):
            return [path, "-rf", "--", folder]
    return [sys.executable, "-I", "-S", "-c", _REMOVE, folder]


def _spawned(command: Sequence[str], environment: Mapping[str, str], number: ctypes.c_int) -> Step:
    """The step that starts a process whose signals are as at the start of any, and notes its number."""
    pointer = ctypes.c_void_p
    attributes = ctypes.create_string_buffer(_ATTRIBUTES)
    for name, given in (("init", ()), ("setsigmask", (_signals(False),)), ("setsigdefault", (_signals(True),))):
        clone.function(f"posix_spawnattr_{name}", ctypes.c_int, *[pointer] * (1 + len(given)))(attributes, *given)
    clone.function("posix_spawnattr_setflags", ctypes.c_int, pointer, ctypes.c_short)(attributes, _SPAWN_FLAGS)
    spawn = clone.function("posix_spawn", ctypes.c_int, pointer, ctypes.c_char_p, *[pointer] * 4)
    words = _strings(command)
    texts = _strings([f"{name}={value}" for name, value in environment.items()])
    return step(spawn, ctypes.byref(number), os.fsencode(command[0]), None, attributes, words, texts)


def _signals(every: bool) -> Any:
    found = ctypes.create_string_buffer(_SIGNALS)
    clone.function("sigfillset" if every else "sigemptyset", ctypes.c_int, ctypes.c_void_p)(found)
    return found


def _strings(texts: Sequence[str]) -> Any:
    return (ctypes.c_char_p * (len(texts) + 1))(*map(os.fsencode, texts), None)
