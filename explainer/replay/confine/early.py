"""What is done to a clone before it runs any Python: whatever runs then by itself can change nothing outside.

It is rough and the same for all; `replay.confine.process`, which takes Python, follows at once and does the rest.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import resource
import signal
import stat
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from explainer.frozen import frozen
from explainer.replay.confine import clone, landlock, process
from explainer.replay.confine.clone import Step, step
from explainer.replay.confine.syscalls import ATTRIBUTES, FILES, JUDGED, PROCESSES, numbered

# linux/prctl.h, linux/seccomp.h
_PDEATHSIG, _SET_SECCOMP, _NO_NEW_PRIVS, _FILTER = 1, 22, 38, 2
#: In the place of the child's process id, which the kernel tells the child alone.
_PID = 0x7FFFFFF1
_LINES = "socket 41 198, connect 42 203, bind 49 200, listen 50 201, pidfd_send_signal 424 424, ptrace 101 117"
_SIGNALS = ("kill", "tgkill", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo")
_MADE = 0o100 | 0o1000 | 0o2000  # O_CREAT, O_TRUNC, O_APPEND
_CLONE_THREAD = 0x10000
# linux/filter.h
_LOAD, _EQUAL, _ANY_BIT, _RETURN, _CALL, _ARGUMENTS = 0x20, 0x15, 0x45, 0x06, 0, 16
_ALLOWED, _REFUSED = 0x7FFF0000, 0x00050000 | errno.EPERM


@frozen
class Early:
    """The steps, in order, and the `memory` they need.

    `moved`: where the child finds the regular files that its parent had open to read.
    """

    steps: tuple[Step, ...]
    moved: dict[int, int]
    memory: tuple[Any, ...]

    def settle(self) -> None:
        """In the child, when its files are its own: put them back to where the program knows them."""
        for descriptor, place in self.moved.items():
            try:
                os.dup2(place, descriptor, inheritable=False)
                os.close(place)
            except OSError:  # another thread had closed it
                continue


@contextmanager
def prepared(keep: int, *, writable: Sequence[str] = (), processes: bool = False, move: bool = True) -> Iterator[Early]:
    """Steps for a child that keeps one descriptor; without `move` no open file stays. OSError without descriptors.

    None for a child of a confined process, which is confined from its start.
    """
    if process.inside:
        yield Early((), {}, ())
        return
    opened = [os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)]
    try:
        steps = [step(clone.function("setsid", ctypes.c_int)), _prctl(_PDEATHSIG, signal.SIGKILL)]
        steps.append(_prctl(_NO_NEW_PRIVS, 1))
        if landlock.abi():
            opened.append(landlock.ruleset([*writable, "/proc"]))
            syscall = clone.function("syscall", ctypes.c_long, *[ctypes.c_long] * 3)
            steps.append(step(syscall, landlock.RESTRICT_SELF, opened[-1], 0))
        elif writable:
            raise OSError(errno.ENOSYS, "this kernel has no Landlock")
        moved = _places() if move else {}
        moved.pop(keep, None)
        calls, memory = filtered(bool(writable), processes)
        yield Early((*steps, *_descriptors(keep, opened[0], moved), *calls), moved, memory)
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _prctl(what: int, *values: int) -> Step:
    prctl = clone.function("prctl", ctypes.c_int, ctypes.c_int, *[ctypes.c_ulong] * 4)
    return step(prctl, what, *values, *[0] * (4 - len(values)))


def _descriptors(keep: int, null: int, moved: dict[int, int]) -> list[Step]:
    """Every descriptor becomes the null device, some after a copy of them has been put elsewhere."""
    dup3 = clone.function("dup3", ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int)
    close = clone.function("close", ctypes.c_int, ctypes.c_int)
    others = [one for one in descriptors() if one not in (keep, null)]
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return [
        clone.all_of(step(dup3, one, place, os.O_CLOEXEC) for one, place in moved.items()),
        *(step(dup3, null, one, 0 if one < 3 else os.O_CLOEXEC) for one in others if one < most),
        clone.all_of(step(close, one) for one in others if one >= most),
    ]


def descriptors() -> list[int]:
    """The descriptors that are open."""
    return [number for name in os.listdir("/proc/self/fd") if _mode(number := int(name))]


def _mode(descriptor: int) -> int:
    """The mode of what a descriptor is open for; 0 where it is not open."""
    try:
        return os.fstat(descriptor).st_mode
    except OSError:
        return 0


def _places() -> dict[int, int]:
    """Where regular files go that are open to read: beyond all other descriptors, as far as there may be any."""
    found = descriptors()
    read = [one for one in found if one > 2 and stat.S_ISREG(_mode(one)) and _access(one) != os.O_WRONLY]
    first, most = max(found, default=2) + 3, resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return {one: place for place, one in enumerate(read, first) if place < most}


def _access(descriptor: int) -> int:
    try:
        return fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE
    except OSError:
        return os.O_WRONLY


def filtered(files: bool, processes: bool) -> tuple[list[Step], tuple[Any, ...]]:
    """The steps that put a filter of system calls in force, with the child's process id in it, and what these need."""
    code = b"".join(_code(platform.machine(), files, processes))
    memory = ctypes.create_string_buffer(code, len(code))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(memory)))
    own, start = clone.identity(), ctypes.addressof(memory)
    places = [at + 4 for at in range(0, len(code), 8) if struct.unpack_from("I", code, at + 4)[0] == _PID]
    move = clone.function("memmove", *[ctypes.c_void_p] * 3, ctypes.c_size_t)  # that of ctypes lets go of the GIL
    put = [step(move, start + place, own, 4) for place in places]
    return [*put, _prctl(_SET_SECCOMP, _FILTER, ctypes.addressof(program))], (memory, program)


def _code(machine: str, files: bool, processes: bool) -> Iterator[bytes]:
    """Refuses calls by number, as the filter that follows does, which refuses all that it does not name, too."""
    yield _bpf(_LOAD, _CALL)
    for calls in (_LINES, ATTRIBUTES, "" if files else FILES, "" if processes else PROCESSES):
        for number in numbered(calls, machine).values() if calls else ():
            yield _branch(number, _bpf(_RETURN, _REFUSED))
    judged = numbered(JUDGED, machine)
    if not files:
        for number, argument in _opening(judged):
            yield _branch(number, _by(argument, _ANY_BIT, _MADE, _REFUSED, _ALLOWED))
    if not processes:
        yield _branch(judged["clone"], _by(0, _ANY_BIT, _CLONE_THREAD, _ALLOWED, _REFUSED))
        for name in _SIGNALS:
            yield _branch(judged[name], _by(0, _EQUAL, _PID, _ALLOWED, _REFUSED))
    yield _bpf(_RETURN, _ALLOWED)


def _opening(judged: dict[str, int]) -> list[tuple[int, int]]:
    """The calls that open files, and which of their arguments says how."""
    return [(judged[name], argument) for name, argument in (("open", 1), ("openat", 2)) if name in judged]


def _branch(number: int, steps: bytes) -> bytes:
    return _bpf(_EQUAL, number, 0, len(steps) // 8) + steps


def _by(argument: int, test: int, value: int, passed: int, failed: int) -> bytes:
    """An answer by the value of an argument."""
    load = _bpf(_LOAD, _ARGUMENTS + 8 * argument)
    return load + _bpf(test, value, 0, 1) + _bpf(_RETURN, passed) + _bpf(_RETURN, failed)


def _bpf(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)
