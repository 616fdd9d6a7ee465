"""Work in seconds: the time that a process was at work or slept by itself, not the time that others kept it waiting.

Limits count it, so that a busy machine gives the answers of a calm one; the clock on the wall only ends runaways.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

#: So many times its limit in work, and seconds more, may a child take by the clock on the wall.
_TIMES, _MORE = 15.0, 10.0
#: Why a child that the wall clock ended has no answer.
STARVED = "no time: the machine is too busy"


def kept_waiting(pid: int | str = "self") -> float:
    """Seconds that a process was ready to run while others had the processors; 0.0 where the system does not tell.

    That is the second number of `/proc/PID/schedstat`, in nanoseconds (Documentation/scheduler/sched-stats.rst).
    """
    try:
        with open(f"/proc/{pid}/schedstat", "rb") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


class Stopwatch:
    """The work of a process from now on; of this one where no other is named."""

    def __init__(self, pid: int | str = "self"):
        self._pid = pid
        self._started = time.monotonic()
        self._waited_before = self._waited = kept_waiting(self._pid)

    @property
    def seconds(self) -> float:
        """The work so far."""
        self._waited = max(self._waited, kept_waiting(self._pid))  # of a process that is gone nothing is told
        return time.monotonic() - self._started - (self._waited - self._waited_before)

    def starved(self, limit: float) -> bool:
        """Whether so much time has passed that a process with this limit must end, whatever work it got done."""
        return time.monotonic() - self._started >= longest(limit)


def longest(limit: float) -> float:
    """The seconds on the wall after which a child with a limit in work is ended."""
    return _TIMES * limit + _MORE


class Spent:
    """What the replays of a crash took together: work of children, and processor time of this process meanwhile."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._counting_from: float | None = None
        self._begun: float | None = None

    @property
    def seconds(self) -> float:
        """The work so far."""
        own = time.process_time() - self._counting_from if self._counting_from is not None else 0.0
        return self._seconds + own

    def add(self, seconds: float) -> None:
        """Count the work of a child."""
        self._seconds += seconds

    def starved(self, limit: float) -> bool:
        """Whether all of it together takes so long that a person has waited enough, whatever was got done."""
        return self._begun is not None and time.monotonic() - self._begun >= longest(limit)

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count the processor time of this process, too."""
        if self._counting_from is not None:  # a replay within a replay
            yield
            return
        self._begun = self._begun or time.monotonic()
        self._counting_from = time.process_time()
        try:
            yield
        finally:
            self._seconds = self.seconds
            self._counting_from = None
