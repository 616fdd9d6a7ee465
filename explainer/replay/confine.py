"""What a sandboxed child does to itself before it runs anything: nothing it shares with its parent stays writable."""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import resource
import signal
import stat
from collections.abc import Sequence

from explainer.replay import landlock, seccomp

_PR_SET_PDEATHSIG = 1
_SHARED_LIMIT = 512 << 20
_COPY_LIMIT = 16 << 20


def confine(keep: int, memory: int, seconds: float, *, writable: Sequence[str] = (), processes: bool = False) -> None:
    """Give up files, network, other processes and inherited descriptors but `keep`; OSError where that fails.

    `memory` is how many bytes may be allocated from here on, `seconds` of processor time is the last resort should the
    parent be gone. `writable` folders stay writable (Landlock is needed for that), `processes` may be started.
    """
    os.setsid()
    _die_with_parent()
    _default_signals()
    _own_descriptors(keep)
    _own_mappings()
    _limit(memory, seconds)
    if landlock.abi():
        landlock.restrict(writable)
    elif writable:
        raise OSError("this kernel has no Landlock")
    seccomp.restrict(os.getpid(), files=bool(writable), processes=processes)


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))


def _default_signals() -> None:
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)


def _own_descriptors(keep: int) -> None:
    """Open files that are read anew, for offsets are shared; every other descriptor becomes the null device."""
    null = os.open(os.devnull, os.O_RDWR)
    for name in os.listdir("/proc/self/fd"):
        descriptor = int(name)
        if descriptor in (keep, null):
            continue
        try:
            own = _reopened(descriptor)
            os.dup2(null if own is None else own, descriptor, inheritable=descriptor < 3)
            if own is not None:
                os.close(own)
        except OSError:  # the listing's own descriptor
            continue


def _reopened(descriptor: int) -> int | None:
    if descriptor < 3 or not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return None
    access = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE
    if access == os.O_WRONLY:
        return None
    try:
        own = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # deleted and out of reach
        return None
    if access == os.O_RDWR and os.fstat(own).st_size <= _COPY_LIMIT:
        own = _copied(own)
    os.lseek(own, os.lseek(descriptor, 0, os.SEEK_CUR), os.SEEK_SET)
    return own


def _copied(descriptor: int) -> int:
    """A file in memory with the same content, which may be written to; the descriptor given is closed."""
    own = os.memfd_create("copy")
    while piece := os.read(descriptor, 1 << 20):
        os.write(own, piece)
    os.close(descriptor)
    return own


def _own_mappings() -> None:
    """Memory shared with the parent (tensors of `share_memory_`, memory maps, semaphores) becomes a private copy."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    shared = _shared()
    if sum(end - start for start, end in shared) > _SHARED_LIMIT:
        raise OSError("more memory is shared with other processes than a replay may copy")
    for start, end in shared:
        held = ctypes.string_at(start, end - start)
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x10  # MAP_FIXED
        if libc.mmap(start, end - start, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0) != start:
            raise OSError(ctypes.get_errno(), "shared memory could not be made private")
        ctypes.memmove(start, held, len(held))


def _shared() -> list[tuple[int, int]]:
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        rows = [line.split() for line in maps]
    areas = [row[0].split("-") for row in rows if row[1].startswith("rw") and row[1].endswith("s")]
    return [(int(start, 16), int(end, 16)) for start, end in areas]


def _limit(memory: int, seconds: float) -> None:
    with open("/proc/self/statm", encoding="ascii") as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
    _lower(resource.RLIMIT_AS, used + memory)
    _lower(resource.RLIMIT_CPU, int(seconds) + 2)
    _lower(resource.RLIMIT_CORE, 0)
    with open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
        score.write("1000")


def _lower(limit: int, value: int) -> None:
    _, hard = resource.getrlimit(limit)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(limit, (value, value))
