"""The time and the memory that one piece of work may take within a child that does many."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Bytes that any piece of work may allocate; and so many times what the process took since its beginning.
_ROOM, _TIMES = 1 << 28, 4


class Late(BaseException):
    """A piece of work takes too long."""


def most_held() -> int:
    """The most memory, in bytes, that this process held so far."""
    import resource  # not on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def room(before: int) -> int:
    """Bytes that a piece of work may allocate: some more than the process took since it held `before`, not many times.

    Python's signals wait for a call into C to end, and one that fills a gigabyte of memory takes seconds.
    """
    return max(_ROOM, _TIMES * (most_held() - before))


@contextmanager
def within(seconds: float, memory: int) -> Iterator[None]:
    """Late is raised after so many seconds of processor time in user mode, RuntimeError or MemoryError beyond memory.

    `memory` is in bytes beyond what the process has mapped.
    """
    import resource  # not on Windows

    def late(*_: Any) -> None:
        raise Late

    before, limits = signal.signal(signal.SIGVTALRM, late), resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm", encoding="ascii") as statm:
        mapped = int(statm.read().split()[0]) * resource.getpagesize()
    soft = mapped + memory if limits[0] == resource.RLIM_INFINITY else min(mapped + memory, limits[0])
    resource.setrlimit(resource.RLIMIT_AS, (soft, limits[1]))
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, limits)
        signal.signal(signal.SIGVTALRM, before)
