"""A seccomp filter through ctypes: of all system calls only those that can touch nothing but the caller succeed."""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from collections.abc import Iterable, Iterator

from explainer.replay.confine.landlock import forbid_new_privileges
from explainer.replay.confine.syscalls import (
    ABSENT,
    ATTRIBUTES,
    FILES,
    JUDGED,
    LAST,
    OWN,
    PROCESSES,
    WISHES,
    known,
    numbered,
)

# linux/audit.h, linux/filter.h and linux/seccomp.h
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_LOAD, _AND, _EQUAL, _ABOVE, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x25, 0x35, 0x45, 0x06
_CALL, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_ALLOW, _ERRNO, _ASK = 0x7FFF0000, 0x00050000, 0x7FC00000
_X32 = 0x40000000
_PR_GET_SECCOMP, _SET_MODE_FILTER, _NEW_LISTENER = 21, 1, 1 << 3
_SECCOMP = {"x86_64": 317, "aarch64": 277}

_REFUSED, _DENIED, _UNKNOWN = _ERRNO | errno.EPERM, _ERRNO | errno.EACCES, _ERRNO | errno.ENOSYS
#: Success that is only said.
_NOTHING = _ERRNO

_READ_ONLY, _NEITHER, _TRUNCATE = 0, 3, 0o1000
_WRITING = 0o1 | 0o2 | 0o100 | _TRUNCATE  # O_WRONLY, O_RDWR, O_CREAT
_CLONE_THREAD = 0x10000
#: CLONE_PARENT and the flags of new namespaces.
_CLONE_AWAY = 0x8000 | 0x7E020000
#: F_DUPFD, _GETFD, _SETFD, _GETFL, _SETFL, _GETLK, _OFD_GETLK, _DUPFD_CLOEXEC, _GETPIPE_SZ, _ADD_SEALS, _GET_SEALS
_FCNTL = (0, 1, 2, 3, 4, 5, 36, 1030, 1032, 1033, 1034)
#: F_SETLK, _SETLKW, _OFD_SETLK, _OFD_SETLKW, _SETPIPE_SZ
_FCNTL_WISHES = (6, 7, 37, 38, 1031)
#: TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX; what is answered to others is what files say of them
_IOCTL, _NO_IOCTL = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451), _ERRNO | errno.EOPNOTSUPP
_UNIX, _STREAM, _KIND = 1, 1, 0xF


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def available() -> bool:
    """Whether this kernel filters system calls and the calls of this machine are known here."""
    if not known(platform.machine()):
        return False
    try:
        return ctypes.CDLL(None, use_errno=True).prctl(_PR_GET_SECCOMP, 0, 0, 0, 0) >= 0
    except (OSError, AttributeError):
        return False


def restrict(
    pid: int, *, files: bool = False, processes: bool = False, scoped: bool = False, asking: bool = False
) -> int:
    """Refuse this process (`pid`: its own id) whatever could touch anything but itself; OSError if that fails.

    `files` leaves changes of files to Landlock, `processes` lets it start children. Signals to these go through where
    they are `scoped` by Landlock; where they are not, a descriptor is handed back if it is `asking`: who holds it is
    asked about each (see `warden`). It is -1 otherwise.
    """
    others = _REFUSED if not processes else _ALLOW if scoped else _ASK if asking else _REFUSED
    code = b"".join(_filter(platform.machine(), pid, files, processes, others))
    memory = ctypes.create_string_buffer(code)
    program = _Program(len(code) // 8, ctypes.addressof(memory))
    forbid_new_privileges()
    libc, flags = ctypes.CDLL(None, use_errno=True), _NEW_LISTENER if asking else 0
    number, mode = _SECCOMP[platform.machine()], ctypes.c_uint(_SET_MODE_FILTER)
    result = libc.syscall(ctypes.c_long(number), mode, ctypes.c_uint(flags), ctypes.byref(program))
    if result < 0:
        raise OSError(ctypes.get_errno(), "seccomp(SECCOMP_SET_MODE_FILTER) failed")
    return result if asking else -1


def _filter(machine: str, pid: int, files: bool, processes: bool, others: int) -> Iterator[bytes]:
    """The filter's steps; `others` is what is answered to a signal to another process."""
    yield _step(_LOAD, _ARCHITECTURE)
    yield _step(_EQUAL, _ARCHITECTURES[machine], 1, 0)
    yield _step(_RETURN, _REFUSED)
    yield _step(_LOAD, _CALL)
    if machine == "x86_64":
        yield _step(_ANY_BIT, _X32, 0, 1)
        yield _step(_RETURN, _REFUSED)
    judged = {**_judged(files), **_of_processes(pid, processes, others)}
    for name, number in numbered(JUDGED, machine).items():
        yield from _branch(number, b"".join(judged[name]))
    for calls, answer in _groups(files, processes):
        for number in numbered(calls, machine).values():
            yield from _branch(number, _step(_RETURN, answer))
    yield from _when(_ABOVE, LAST, _UNKNOWN)
    yield _step(_RETURN, _REFUSED)


def _groups(files: bool, processes: bool) -> Iterator[tuple[str, int]]:
    """Calls that are all answered alike. In a copy a mode or a time that stays as it was fails no program."""
    yield from ((OWN, _ALLOW), (WISHES, _NOTHING), (ABSENT, _UNKNOWN))
    if files:
        yield from ((FILES, _ALLOW), (ATTRIBUTES, _NOTHING))
    if processes:
        yield PROCESSES, _ALLOW


def _judged(files: bool) -> dict[str, list[bytes]]:
    """What is answered to calls by their arguments, whoever makes them."""
    return {
        "open": _opened(1, files),
        "openat": _opened(2, files),
        "ioctl": _one_of(1, _NO_IOCTL, (_IOCTL, _ALLOW)),
        "fcntl": _one_of(1, _REFUSED, (_FCNTL, _ALLOW), (_FCNTL_WISHES, _NOTHING)),
        # Of datagrams each names where it goes: a pair of sockets would reach any other.
        "socketpair": [
            _load(0), _step(_EQUAL, _UNIX, 1, 0), _step(_RETURN, _REFUSED),
            *_one_of(1, _REFUSED, ((_STREAM,), _ALLOW), mask=_KIND),
        ],
    }  # fmt: skip


def _of_processes(pid: int, processes: bool, others: int) -> dict[str, list[bytes]]:
    """What is answered to calls about a process, by which one it is."""
    group = -pid & 0xFFFFFFFF
    to_others = [_step(_RETURN, others)]
    return {
        "clone": [
            _load(0), *_when(_ANY_BIT, _CLONE_AWAY, _REFUSED), *_when(_ANY_BIT, _CLONE_THREAD, _ALLOW),
            _step(_RETURN, _ALLOW if processes else _REFUSED),
        ],
        "kill": [
            _load(0), *(step for own in (0, pid, group) for step in _when(_EQUAL, own, _ALLOW)),
            *_when(_AT_LEAST, 1 << 31, _REFUSED), *to_others,
        ],
        "tgkill": _one_of(0, others, ((pid,), _ALLOW)),
        "tkill": to_others,
        "rt_sigqueueinfo": to_others,
        "rt_tgsigqueueinfo": to_others,
        "prlimit64": _one_of(0, _REFUSED, ((0, pid), _ALLOW)),
    }  # fmt: skip


def _opened(argument: int, files: bool) -> list[bytes]:
    """What is answered to opening a file.

    Before version 3 Landlock did not see files made shorter by opening them for anything but writing.
    """
    if files:
        wrong = (_TRUNCATE | _READ_ONLY, _TRUNCATE | _NEITHER)
        return _one_of(argument, _ALLOW, (wrong, _DENIED), mask=_TRUNCATE | _NEITHER)
    return [_load(argument), *_when(_ANY_BIT, _WRITING, _DENIED), _step(_RETURN, _ALLOW)]


def _branch(number: int, steps: bytes) -> Iterator[bytes]:
    """Steps that end in an answer, for one call."""
    yield _step(_EQUAL, number, 0, len(steps) // 8)
    yield steps


def _one_of(argument: int, otherwise: int, *answers: tuple[Iterable[int], int], mask: int | None = None) -> list[bytes]:
    """Steps that answer by the value of an argument, of those of its bits that are in `mask`."""
    masked = [] if mask is None else [_step(_AND, mask)]
    found = [step for values, answer in answers for value in values for step in _when(_EQUAL, value, answer)]
    return [_load(argument), *masked, *found, _step(_RETURN, otherwise)]


def _when(test: int, value: int, answer: int) -> Iterator[bytes]:
    yield _step(test, value, 0, 1)
    yield _step(_RETURN, answer)


def _load(argument: int) -> bytes:
    return _step(_LOAD, _ARGUMENTS + 8 * argument)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)
