"""What a sandboxed child does to itself before it runs anything: nothing it shares with its parent stays writable."""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import signal
import stat
from collections.abc import Sequence
from typing import Any

from explainer.replay.confine import landlock, seccomp
from explainer.replay.confine.capabilities import drop_capabilities
from explainer.replay.confine.mappings import own_mappings

_PR_SET_PDEATHSIG = 1
_COPY_LIMIT = 16 << 20
#: Whether this process is confined itself and starts children of its own: they are as confined as it is.
inside = False
#: Whether this process is a sandboxed child: what fails here is a trial's.
confined = False


def confine(keep: int, memory: int, seconds: float, *, writable: Sequence[str] = (), processes: bool = False) -> None:
    """Give up files, network, other processes and inherited descriptors but `keep`; OSError where that fails.

    `memory` is how many bytes may be allocated from here on, `seconds` of processor time is the last resort should the
    parent be gone. `writable` folders stay writable (Landlock is needed for that), `processes` may be started.
    """
    global confined
    confined = True
    if inside:
        _confine_alike(keep, memory, seconds)
        return
    version = landlock.abi()
    if writable and not version:
        raise OSError("this kernel has no Landlock")
    if len(os.listdir("/proc/self/task")) > 1:
        raise OSError("threads run already, which nothing confines")
    if os.getsid(0) != os.getpid():
        os.setsid()
    _die_with_parent()
    _default_signals()
    own_mappings()
    _own_descriptors(keep)
    _limit(memory, seconds)
    warden = _warden(keep) if processes and version < landlock.SIGNALS else None
    if version:
        landlock.restrict(writable)
    drop_capabilities()
    _refuse_calls(warden, files=bool(writable), processes=processes, scoped=version >= landlock.SIGNALS)


def _confine_alike(keep: int, memory: int, seconds: float) -> None:
    """In a child of a confined process: what that one has given up stays so."""
    _die_with_parent()
    _default_signals()
    _own_descriptors(keep)
    _lower(resource.RLIMIT_CPU, int(seconds) + 2)


def _warden(keep: int) -> Any:
    from explainer.replay.confine.warden import Warden

    try:
        return Warden(keep)
    except OSError:  # no descriptors or no processes are left: then signals to children are refused
        return None


def _refuse_calls(warden: Any, **allowed: bool) -> None:
    """The filter of system calls; without a warden signals to children are refused."""
    if warden is None:
        seccomp.restrict(os.getpid(), **allowed)
        return
    try:
        listener = seccomp.restrict(os.getpid(), **allowed, asking=True)
    except OSError:  # a filter that this process inherited has somebody asked already
        listener = seccomp.restrict(os.getpid(), **allowed)
    warden.listen(listener)


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))


def _default_signals() -> None:
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)


def _own_descriptors(keep: int) -> None:
    """Open files that are read anew, for offsets are shared; every other descriptor becomes the null device."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        if descriptor in (keep, null) or not _is_open(descriptor):
            continue
        try:
            own = _reopened(descriptor)
        except OSError:  # deleted and out of reach, or no descriptors are left
            own = None
        os.dup2(null if own is None else own, descriptor, inheritable=descriptor < 3)
        if own is not None:
            os.close(own)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:  # the listing's own
        return False
    return True


def _reopened(descriptor: int) -> int | None:
    """An open file of its own with the same content and offset; None where the null device has to do."""
    found, access = os.fstat(descriptor), fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE
    if descriptor < 3 or not stat.S_ISREG(found.st_mode) or access == os.O_WRONLY:
        return None
    path, small = f"/proc/self/fd/{descriptor}", found.st_size <= _COPY_LIMIT
    in_memory = os.readlink(path).startswith("/memfd:")
    if in_memory and not small:  # Landlock would let it be opened again, to write
        return None
    own = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    if small and (in_memory or access == os.O_RDWR):
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


def _limit(memory: int, seconds: float) -> None:
    with open("/proc/self/statm", encoding="ascii") as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
    _lower(resource.RLIMIT_AS, used + memory)
    _lower(resource.RLIMIT_CPU, int(seconds) + 2)
    _lower(resource.RLIMIT_CORE, 0)
    score = os.open("/proc/self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
    os.write(score, b"1000")
    os.close(score)


def _lower(limit: int, value: int) -> None:
    _, hard = resource.getrlimit(limit)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(limit, (value, value))
