"""The folder of a job on this machine, in which its ranks leave what they know for one another and for the launcher."""

from __future__ import annotations

import json
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from explainer.hooks import last

FOLDER = "EXPLAINER_JOB"
#: Seconds for which a rank that has told all stays for those that have not: the first to leave has the others ended.
PATIENCE = 10.0
#: Records of jobs older than so many seconds are removed.
_OLD = 86400.0
Record = dict[str, Any]


def folder() -> Path | None:
    """The folder for the records of this job: that of the launcher, or one for all children of the same process."""
    if os.environ.get(FOLDER):
        return Path(os.environ[FOLDER])
    return beside()


def beside(of: int | None = None) -> Path | None:
    """The folder for all children of one process: this one's parent, or the process that is named."""
    parent = os.getppid() if of is None else of
    name = f"{parent}-{_begun(parent)}-{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"
    try:
        _sweep(last.private("jobs"))
        return last.private("jobs", name)
    except (OSError, RuntimeError):  # no home directory, or one that cannot be written
        return None


def records(where: Path, since: float = 0.0, pattern: str = "rank-*.json") -> list[Record]:
    """What the ranks have left in a job's folder since a time."""
    found = []
    for path in sorted(where.glob(pattern)):
        with suppress(OSError, ValueError):
            found.append(json.loads(path.read_text(encoding="utf-8")))
    return [one for one in found if one["time"] >= since]


def others(record: Record) -> list[Record]:
    """The other ranks' records; what is older than this process is of another job with the same parent."""
    ticks = _begun(os.getpid())
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(ticks) / os.sysconf("SC_CLK_TCK") if ticks != "0" else _OLD
    return [one for one in records(Path(record["folder"]), time.time() - age) if one["rank"] != record["rank"]]


def entered(record: Record) -> list[Record]:
    """Leave a record; those of the ranks that failed before, empty for the rank that is to tell the error."""
    earlier = others(record)
    write(record)
    return earlier or _claimed(record)


def write(record: Record, name: str = "") -> bool:
    """Write a record, whole or not at all; whether it was written."""
    path = Path(record["folder"]) / f"{name or 'rank-' + str(record['rank'])}.json"
    try:
        path.with_suffix(".new").write_text(json.dumps(record), encoding="utf-8")
        path.with_suffix(".new").replace(path)
    except OSError:
        return False
    return True


def leave(record: Record | None) -> None:
    """Say that this rank has told all that it had to tell, and wait a while for those that are still at it."""
    if record is None:
        return
    with suppress(OSError):
        _told(record).touch(mode=0o600)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and any(lives(one["process"]) and not _told(one).exists() for one in others(record)):
        time.sleep(0.05)


def _told(record: Record) -> Path:
    """The file that says that a rank has told all; named by the process, as ranks are started again."""
    return Path(record["folder"]) / f"told-{record['process']}"


def _claimed(record: Record) -> list[Record]:
    """Of ranks that fail in the same moment one tells: the records of those before, empty for that one.

    The first to link its record as the job's tells, whatever their clocks say. Where an earlier job of the same parent
    left such a link, the earliest of this one tells.
    """
    folder = Path(record["folder"])
    try:
        os.link(folder / f"rank-{record['rank']}.json", folder / "first")
    except FileExistsError:
        found, first = others(record), records(folder, pattern="first")
        won = [one for one in found if one["process"] in [each["process"] for each in first]]
        return won or [one for one in found if (one["time"], one["rank"]) < (record["time"], record["rank"])]
    except OSError:  # a file system without links
        pass
    return []


def _sweep(jobs: Path) -> None:
    for one in jobs.iterdir():
        with suppress(OSError):  # another rank removes it at the same time
            if one.stat().st_mtime < time.time() - _OLD:
                shutil.rmtree(one, ignore_errors=True)


def lives(process: int) -> bool:
    """Whether a process runs still; where that cannot be seen (outside of Linux) nobody is waited for."""
    return _stat(process)[:1] not in ([], ["Z"], ["X"])


def _begun(process: int) -> str:
    """When a process began, in ticks since the machine did: numbers of processes come again."""
    return (_stat(process)[19:20] or ["0"])[0]


def _stat(process: int) -> list[str]:
    """What Linux says of a process behind its name, from its state on; empty where it says nothing."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].decode().split()
    except OSError:
        return []
