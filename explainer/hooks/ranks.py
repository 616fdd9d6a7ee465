"""The ranks of one job on this machine: the first to fail tells its error, the others what they have to do with it.

Each rank that fails leaves a record in the job's folder. Under `explain run -m torch.distributed.run` (`EXPLAINER_JOB`
names the folder) the launcher makes one report of them; elsewhere the ranks that come later say a line each.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
import traceback
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from explainer.hooks import last
from explainer.locale import word
from explainer.userframes import is_user_file

FOLDER = "EXPLAINER_JOB"
#: What a rank says that only lost another one: gloo's and NCCL's words, and those of torch's stores.
_LOST = (
    "Connection closed by peer",
    "Connection reset by peer",
    "Broken pipe",
    "remote process exited",
    "NCCL operations have failed or timed out",
    "Timed out waiting",
    "caught collective operation timeout",
    "Socket Timeout",
)
_COLLECTIVES = "distributed_c10d.py"
#: How many tensors of a collective are named.
_MOST = 4
#: Records of jobs older than so many seconds are removed.
_OLD = 86400.0
Record = dict[str, Any]
#: Whether this process starts a job's ranks: its own RANK is that of its machine.
launches = False


def begun(error: BaseException, stack: Any) -> Record | None:
    """Leave word of an error at once: whoever waits for this rank may be ended before anything is explained."""
    rank, world = (None, 0) if launches else _rank()
    where = _folder() if rank is not None and world > 1 else None
    if rank is None or where is None:
        return None
    record = {**_record(error, stack, rank, world), "folder": str(where)}
    return {**record, "earlier": _kept(record)}


def told(explanation: Any, record: Record | None) -> tuple[Any, str]:
    """An explanation with its rank, and the line that is said in its place where that is enough (else empty)."""
    if record is None or not explanation.reports:
        return explanation, ""
    from explainer.transfer import sent

    first, *others = explanation.reports
    said = [word("job_rank", first.language, rank=record["rank"], world=record["world"])]
    said += [relation(one, record, first.language) for one in _others(record) if one["call"] and record["call"]]
    own = replace(first, rank=record["rank"])
    explanation = replace(explanation, reports=(replace(own, remarks=(*own.remarks, *filter(None, said))), *others))
    if os.environ.get(FOLDER):
        kept = _write({**record, "report": sent(own)})
        return explanation, word("job_kept", own.language, rank=record["rank"]) if kept else ""
    line = relation(record, first_of(record["earlier"]), own.language) if record["earlier"] else ""
    return explanation, line and f"explainer: {line}"


def relation(record: Record, first: Record, language: str) -> str:
    """What a rank's error has to do with the one that failed first, in a line; empty for an error of its own."""
    calls = [one["call"] for one in (first, record)]
    if all(calls) and _differ(*calls):
        said = [word("job_call", language, rank=one["rank"], **one["call"]) for one in (first, record)]
        return word("job_collectives", language, listed=word("listed", language).join(said))
    ranks = {"rank": record["rank"], "other": first["rank"]}
    if record["same"] == first["same"] or (record["lost"] and first["lost"]):
        return word("job_same", language, **ranks)
    return word("job_lost", language, **ranks, place=record["place"], at=first["place"]) if record["lost"] else ""


def first_of(records: Sequence[Record]) -> Record:
    """The record of the rank that failed first, those that only lost another one behind all others."""
    return min(records, key=lambda one: (one["lost"], one["time"], one["rank"]))


def records(where: Path, since: float = 0.0) -> list[Record]:
    """What the ranks have left in a job's folder since a time."""
    found = []
    for path in sorted(where.glob("rank-*.json")):
        with suppress(OSError, ValueError):
            found.append(json.loads(path.read_text(encoding="utf-8")))
    return [one for one in found if one["time"] >= since]


def _rank() -> tuple[int | None, int]:
    """This process's rank and how many there are, from the launcher's variables or the process group."""
    with suppress(KeyError, ValueError):
        return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch: Any = sys.modules.get("torch")
    group = getattr(torch, "distributed", None) if "torch.distributed.distributed_c10d" in sys.modules else None
    if group is not None and group.is_available() and group.is_initialized():
        return group.get_rank(), group.get_world_size()
    return None, 1


def _folder() -> Path | None:
    """The folder for the records of this job: that of the launcher, or one for all children of the same process."""
    if os.environ.get(FOLDER):
        return Path(os.environ[FOLDER])
    jobs, parent = last.folder() / "jobs", os.getppid()
    name = f"{parent}-{_begun(parent)}-{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"
    try:
        _sweep(jobs)
        (jobs / name).mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None
    return jobs / name


def _begun(process: int) -> str:
    """When a process began, in ticks since the machine did: numbers of processes come again."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return "0"


def _sweep(jobs: Path) -> None:
    for folder in jobs.iterdir() if jobs.is_dir() else ():
        with suppress(OSError):  # another rank removes it at the same time
            if folder.stat().st_mtime < time.time() - _OLD:
                shutil.rmtree(folder, ignore_errors=True)


def _kept(record: Record) -> list[Record]:
    """Leave a record; the others' that were there before."""
    earlier = _others(record)
    _write(record)
    return earlier or _claimed(record)


def _write(record: Record) -> bool:
    """Write a record, whole or not at all; whether it was written."""
    path = Path(record["folder"]) / f"rank-{record['rank']}.json"
    try:
        path.with_suffix(".new").write_text(json.dumps(record), encoding="utf-8")
        path.with_suffix(".new").replace(path)
    except OSError:
        return False
    return True


def _claimed(record: Record) -> list[Record]:
    """Of ranks that fail alike in the same moment one tells: the records of those before, empty for that one."""
    try:
        os.close(os.open(Path(record["folder"]) / "first", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:  # of this job, or of an earlier one of the same parent: the earliest that is there tells
        return [one for one in _others(record) if (one["time"], one["rank"]) < (record["time"], record["rank"])]
    except OSError:
        pass
    return []


def _others(record: Record) -> list[Record]:
    """The other ranks' records; what is older than this process is of another job with the same parent."""
    ticks = _begun(os.getpid())
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(ticks) / os.sysconf("SC_CLK_TCK") if ticks != "0" else _OLD
    return [one for one in records(Path(record["folder"]), time.time() - age) if one["rank"] != record["rank"]]


def _record(error: BaseException, stack: Any, rank: int, world: int) -> Record:
    frames = [frame for frame, _ in traceback.walk_tb(stack)]
    lines = [line for _, line in traceback.walk_tb(stack)]
    own = [at for at, frame in enumerate(frames) if is_user_file(frame.f_code.co_filename)]
    place = f"{os.path.relpath(frames[own[-1]].f_code.co_filename)}:{lines[own[-1]]}" if own else "?"
    message = str(error) if type(error).__module__ in ("builtins", "torch", "torch.distributed") else ""
    return {
        "rank": rank,
        "world": world,
        "time": time.time(),
        "attempt": int(os.environ.get("TORCHELASTIC_RESTART_COUNT") or 0),
        "lost": any(text in message for text in _LOST),
        "same": [type(error).__name__, place],
        "place": place,
        "call": _call(frames, place),
    }


def _call(frames: Sequence[types.FrameType], place: str) -> Mapping[str, str] | None:
    """The collective that a rank was in, with the tensors that it was given."""
    inside = [one for one in frames if one.f_code.co_filename.replace("\\", "/").endswith(_COLLECTIVES)]
    found = next((one for one in inside if one.f_code.co_name != "wrapper"), None)
    if found is None:
        return None
    named = found.f_code.co_varnames[: found.f_code.co_argcount]
    tensors = [said for name in named for said in _said(name, found.f_locals.get(name))]
    return {"op": found.f_code.co_name, "tensors": ", ".join(tensors[:_MOST]), "place": place}


def _said(name: str, value: Any) -> Iterator[str]:
    """A tensor, or the first of a list of them, by shape and dtype."""
    torch: Any = sys.modules["torch"]
    many = type(value) in (list, tuple) and len(value) > 0
    one = value[0] if many else value
    if isinstance(one, torch.Tensor):
        count = f"{len(value)} x " if many else ""
        yield f"{name} {count}{list(one.shape)} {str(one.dtype).removeprefix('torch.')}"


def _differ(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether two ranks were in different collectives, or gave other shapes or dtypes."""
    return (one["op"], one["tensors"]) != (other["op"], other["tensors"])
