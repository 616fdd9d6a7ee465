"""A seccomp filter through ctypes: system calls by which a replayed program could touch anything but itself fail."""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from collections.abc import Iterator

from explainer.replay.landlock import forbid_new_privileges

#: linux/audit.h names of the architectures, and the numbers of the calls (asm/unistd_64.h, asm-generic/unistd.h).
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_COMMON = {
    "openat2": 437, "fchmodat2": 452, "io_uring_setup": 425, "pidfd_open": 434, "pidfd_send_signal": 424, "clone3": 435,
}  # fmt: skip
_NUMBERS = {
    "x86_64": _COMMON | {
        "open": 2, "openat": 257, "clone": 56, "kill": 62, "tgkill": 234, "creat": 85, "truncate": 76, "ftruncate": 77,
        "rename": 82, "renameat": 264, "renameat2": 316, "mkdir": 83, "mkdirat": 258, "rmdir": 84, "link": 86,
        "linkat": 265, "unlink": 87, "unlinkat": 263, "symlink": 88, "symlinkat": 266, "mknod": 133, "mknodat": 259,
        "chmod": 90, "fchmod": 91, "fchmodat": 268, "chown": 92, "fchown": 93, "lchown": 94, "fchownat": 260,
        "utime": 132, "utimes": 235, "futimesat": 261, "utimensat": 280, "setxattr": 188, "lsetxattr": 189,
        "fsetxattr": 190, "removexattr": 197, "lremovexattr": 198, "fremovexattr": 199, "fallocate": 285,
        "copy_file_range": 326, "sendfile": 40, "splice": 275, "socket": 41, "connect": 42, "bind": 49, "listen": 50,
        "fork": 57, "vfork": 58, "execve": 59, "execveat": 322, "tkill": 200, "rt_sigqueueinfo": 129,
        "rt_tgsigqueueinfo": 297, "ptrace": 101, "process_vm_writev": 311, "shmget": 29, "shmat": 30, "shmctl": 31,
        "semget": 64, "semop": 65, "semctl": 66, "msgget": 68, "msgsnd": 69, "mq_open": 240, "mount": 165,
        "umount2": 166, "chroot": 161, "unshare": 272, "setns": 308, "sethostname": 170, "reboot": 169,
        "settimeofday": 164, "clock_settime": 227, "adjtimex": 159, "setpriority": 141, "bpf": 321, "keyctl": 250,
        "setsid": 112, "setpgid": 109,
        "add_key": 248, "init_module": 175, "finit_module": 313, "delete_module": 176,
    },
    "aarch64": _COMMON | {
        "openat": 56, "clone": 220, "kill": 129, "tgkill": 131, "truncate": 45, "ftruncate": 46, "renameat": 38,
        "renameat2": 276, "mkdirat": 34, "linkat": 37, "unlinkat": 35, "symlinkat": 36, "mknodat": 33, "fchmod": 52,
        "fchmodat": 53, "fchown": 55, "fchownat": 54, "utimensat": 88, "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7,
        "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16, "fallocate": 47, "copy_file_range": 285,
        "sendfile": 71, "splice": 76, "socket": 198, "connect": 203, "bind": 200, "listen": 201, "execve": 221,
        "execveat": 281, "tkill": 130, "rt_sigqueueinfo": 138, "rt_tgsigqueueinfo": 240, "ptrace": 117,
        "process_vm_writev": 271, "shmget": 194, "shmat": 196, "shmctl": 195, "semget": 190, "semop": 193,
        "semctl": 191, "msgget": 186, "msgsnd": 189, "mq_open": 180, "mount": 40, "umount2": 39, "chroot": 51,
        "unshare": 97, "setns": 268, "sethostname": 161, "reboot": 142, "settimeofday": 170, "clock_settime": 112,
        "adjtimex": 171, "setpriority": 140, "setsid": 157, "setpgid": 154, "bpf": 280,
        "keyctl": 219, "add_key": 217, "init_module": 105,
        "finit_module": 273, "delete_module": 106,
    },
}  # fmt: skip
#: Calls that are judged by an argument, or whose failure must look like an old kernel.
_SPECIAL = {"open", "openat", "openat2", "clone", "clone3", "kill", "tgkill"}
_FILES = {
    "creat", "truncate", "ftruncate", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "rmdir", "link", "linkat",
    "unlink", "unlinkat", "symlink", "symlinkat", "mknod", "mknodat", "fallocate", "copy_file_range", "sendfile",
    "splice", "chmod", "fchmod", "fchmodat", "fchmodat2", "utime", "utimes", "futimesat", "utimensat",
}  # fmt: skip
_PROCESSES = {"fork", "vfork", "execve", "execveat", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_open"}

# linux/filter.h and linux/seccomp.h
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_X32 = 0x40000000
_CALL, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_WRITING = 0o1 | 0o2 | 0o100 | 0o1000  # O_WRONLY, O_RDWR, O_CREAT, O_TRUNC
_CLONE_THREAD = 0x10000
_PR_GET_SECCOMP, _PR_SET_SECCOMP, _FILTER = 21, 22, 2


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def available() -> bool:
    """Whether this kernel filters system calls and the calls of this machine are known here."""
    if platform.machine() not in _NUMBERS:
        return False
    try:
        return ctypes.CDLL(None, use_errno=True).prctl(_PR_GET_SECCOMP, 0, 0, 0, 0) >= 0
    except (OSError, AttributeError):
        return False


def restrict(pid: int, *, files: bool = False, processes: bool = False) -> None:
    """Refuse this process (`pid`: its own id) sockets, signals to others and other ways out; OSError if that fails.

    `files` leaves changes of files to Landlock, `processes` lets it start children and signal them.
    """
    code = b"".join(_filter(platform.machine(), pid, files, processes))
    memory = ctypes.create_string_buffer(code)
    program = _Program(len(code) // 8, ctypes.addressof(memory))
    forbid_new_privileges()
    libc, zero = ctypes.CDLL(None, use_errno=True), ctypes.c_ulong(0)
    if libc.prctl(_PR_SET_SECCOMP, ctypes.c_ulong(_FILTER), ctypes.byref(program), zero, zero):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_SECCOMP) failed")


def _filter(machine: str, pid: int, files: bool, processes: bool) -> Iterator[bytes]:
    numbers = _NUMBERS[machine]
    yield _step(_LOAD, _ARCHITECTURE)
    yield _step(_EQUAL, _ARCHITECTURES[machine], 1, 0)
    yield _step(_RETURN, _ERRNO | errno.EPERM)
    yield _step(_LOAD, _CALL)
    if machine == "x86_64":
        yield _step(_ANY_BIT, _X32, 0, 1)
        yield _step(_RETURN, _ERRNO | errno.EPERM)
    allowed = _SPECIAL | (_FILES if files else set()) | (_PROCESSES if processes else set())
    for name, number in numbers.items():
        if name not in allowed:
            yield from _refuse(number, errno.EPERM)
    if not files:
        yield from _refuse(numbers["openat2"], errno.ENOSYS)
        yield from _refuse_bits(numbers["openat"], 2, _WRITING, errno.EACCES)
        if "open" in numbers:
            yield from _refuse_bits(numbers["open"], 1, _WRITING, errno.EACCES)
    if not processes:
        # glibc falls back from clone3, whose flags a filter cannot read, to clone.
        yield from _refuse(numbers["clone3"], errno.ENOSYS)
        yield from _refuse_unless(numbers["clone"], _ANY_BIT, _CLONE_THREAD)
        yield from _refuse_unless(numbers["kill"], _EQUAL, pid)
        yield from _refuse_unless(numbers["tgkill"], _EQUAL, pid)
    yield _step(_RETURN, _ALLOW)


def _refuse(number: int, error: int) -> Iterator[bytes]:
    yield _step(_EQUAL, number, 0, 1)
    yield _step(_RETURN, _ERRNO | error)


def _refuse_bits(number: int, argument: int, bits: int, error: int) -> Iterator[bytes]:
    yield _step(_EQUAL, number, 0, 4)
    yield _step(_LOAD, _ARGUMENTS + 8 * argument)
    yield _step(_ANY_BIT, bits, 0, 1)
    yield _step(_RETURN, _ERRNO | error)
    yield _step(_LOAD, _CALL)


def _refuse_unless(number: int, test: int, value: int) -> Iterator[bytes]:
    """Refuse a call unless its first argument passes a test."""
    yield _step(_EQUAL, number, 0, 4)
    yield _step(_LOAD, _ARGUMENTS)
    yield _step(test, value, 1, 0)
    yield _step(_RETURN, _ERRNO | errno.EPERM)
    yield _step(_LOAD, _CALL)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)
