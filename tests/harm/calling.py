"""System calls by number, for attempts that no library makes."""

from __future__ import annotations

import ctypes
import mmap
import os
import platform

from world import libc

X86 = platform.machine() == "x86_64"
#: Numbers on x86_64 and on aarch64 where they differ; from 424 on they are the same.
_NUMBERS = {
    "clone": (56, 220), "perf_event_open": (298, 241), "bpf": (321, 280), "userfaultfd": (323, 282),
    "kcmp": (312, 272), "add_key": (248, 217), "keyctl": (250, 219), "ioprio_set": (251, 30),
    "sched_setattr": (314, 274), "migrate_pages": (256, 238), "move_pages": (279, 239), "tkill": (200, 130),
    "rt_tgsigqueueinfo": (297, 240), "quotactl": (179, 60),
    "pidfd_send_signal": (424, 424), "io_uring_setup": (425, 425), "open_tree": (428, 428), "fsopen": (430, 430),
    "pidfd_open": (434, 434), "openat2": (437, 437), "pidfd_getfd": (438, 438), "process_madvise": (440, 440),
    "fchmodat2": (452, 452), "setxattrat": (463, 463), "removexattrat": (466, 466), "file_setattr": (469, 469),
}  # fmt: skip


def checked(result: int) -> int:
    """What a function of the C library returned; OSError where that says that it failed."""
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def call(name: str, *arguments: object) -> int:
    """A system call by name; whole numbers are handed on as wide as the kernel takes them."""
    number = _NUMBERS[name][0 if X86 else 1]
    wide = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    return checked(libc.syscall(ctypes.c_long(number), *wide))


def call_32(number: int, text: bytes, second: int) -> int:
    """A system call of 32-bit programs, `int 0x80`, with a text and a number as arguments; x86_64 only."""
    page = mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40, prot=7)  # MAP_32BIT
    start = ctypes.addressof(ctypes.c_char.from_buffer(page))
    page[: len(text) + 1] = text + b"\0"
    moves = ((0xB8, number), (0xBB, start), (0xB9, second))
    code = b"\x53" + b"".join(bytes([one]) + value.to_bytes(4, "little") for one, value in moves) + b"\xcd\x80\x5b\xc3"
    page[2048 : 2048 + len(code)] = code
    result: int = ctypes.CFUNCTYPE(ctypes.c_int)(start + 2048)()
    if result < 0:
        raise OSError(-result, os.strerror(-result))
    return result
