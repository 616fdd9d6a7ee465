"""Landlock through ctypes: a process gives up writing to files, TCP and signals to others, its children too."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence

# linux/landlock.h; the system call numbers are the same on every architecture.
_CREATE_RULESET, _ADD_RULE, RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG, _PATH_BENEATH = 1, 1
_WRITE_FILE, _READ_FILE = 1 << 1, 1 << 2
#: REMOVE_DIR, REMOVE_FILE, MAKE_CHAR, _DIR, _REG, _SOCK, _FIFO, _BLOCK, _SYM: rights of directories.
_CHANGE_DIRECTORY = sum(1 << bit for bit in range(4, 13))
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_TCP = 0b11
_SCOPES = 0b11
_NO_NEW_PRIVS = 38
#: Devices that give the same to everybody; terminals, disks and the like are not read, nor what is put into /dev.
_DEVICES = ("null", "zero", "full", "random", "urandom", "shm")
#: The version from which on signals out of the sandbox are forbidden.
SIGNALS = 6


class _Ruleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def abi() -> int:
    """The version of Landlock that this kernel offers; 0 where there is none."""
    try:
        version = _libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG))
    except (OSError, AttributeError):
        return 0
    return max(version, 0)


def restrict(writable: Sequence[str] = ()) -> None:
    """Forbid this thread and what it starts to write outside of `writable`; OSError where the kernel refuses."""
    handle = ruleset(writable)
    try:
        forbid_new_privileges()
        _call(RESTRICT_SELF, ctypes.c_int(handle), ctypes.c_uint32(0))
    finally:
        os.close(handle)


def ruleset(writable: Sequence[str] = ()) -> int:
    """The descriptor of what `restrict` puts in force: no writing outside of `writable`. OSError.

    Devices are not read either: what was typed into a terminal would be gone. From version 3 truncation is forbidden
    too, from 4 TCP, from 6 signals and abstract sockets out of the sandbox.
    """
    version = abi()
    rights = _rights(version)
    rules = _Ruleset(rights, _TCP if version >= 4 else 0, _SCOPES if version >= SIGNALS else 0)
    size = 8 if version < 4 else 16 if version < 6 else 24
    handle = _call(_CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(size), ctypes.c_uint32(0))
    try:
        for path in ("/dev/null", *writable):
            _allow(handle, path, rights)
        for path in _readable():
            _allow(handle, path, _READ_FILE)
    except OSError:
        os.close(handle)
        raise
    return handle


def forbid_new_privileges() -> None:
    """Make setuid programs run without their privileges; both Landlock and seccomp ask for it."""
    if _libc().prctl(_NO_NEW_PRIVS, ctypes.c_ulong(1), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0)):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_NO_NEW_PRIVS) failed")


def _rights(version: int) -> int:
    rights = _WRITE_FILE | _READ_FILE | _CHANGE_DIRECTORY
    return rights | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)


def _readable() -> list[str]:
    """All that is directly below the root but devices; rules can only allow."""
    roots = [entry.path for entry in os.scandir("/") if entry.name != "dev"]
    return [path for path in [*roots, *(f"/dev/{name}" for name in _DEVICES)] if os.path.exists(path)]


def _allow(ruleset: int, path: str, rights: int) -> None:
    if not os.path.isdir(path):
        rights &= _WRITE_FILE | _READ_FILE | _TRUNCATE
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = _PathBeneath(rights, place)
        _call(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), ctypes.byref(rule), ctypes.c_uint32(0))
    finally:
        os.close(place)


def _call(number: int, *arguments: object) -> int:
    result = _libc().syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"Landlock: {os.strerror(ctypes.get_errno())}")
    return result


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
