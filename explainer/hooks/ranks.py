"""The ranks of one job on this machine: the first to fail tells its error, the others what they have to do with it.

Each rank that fails leaves a record in the job's folder. Under `explain run -m torch.distributed.run` (`EXPLAINER_JOB`
names the folder) the launcher makes one report of them; elsewhere the ranks that come later say a line each.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
import types
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from explainer.hooks import collectives, job
from explainer.hooks.job import Record
from explainer.locale import word
from explainer.userframes import is_user_file

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
#: Whether this process starts a job's ranks: its own RANK is that of its machine.
launches = False


def begun(error: BaseException, stack: Any) -> Record | None:
    """Leave word of an error at once: whoever waits for this rank may be ended before anything is explained."""
    rank, world = (None, 0) if launches else here()
    where = job.folder() if rank is not None and world > 1 else None
    if rank is None or where is None:
        return None
    own = {**record(error, stack, rank, world), "folder": str(where)}
    return {**own, "earlier": job.entered(own)}


def told(explanation: Any, record: Record | None) -> tuple[Any, str]:
    """An explanation with its rank, and the line that is said in its place where that is enough (else empty)."""
    if record is None or not explanation.reports:
        return explanation, ""
    from explainer.transfer import sent

    first, *others = explanation.reports
    said = [word("job_rank", first.language, rank=record["rank"], world=record["world"])]
    said += [relation(one, record, first.language) for one in job.others(record) if one["call"] and record["call"]]
    own = replace(first, rank=record["rank"])
    explanation = replace(explanation, reports=(replace(own, remarks=(*own.remarks, *filter(None, said))), *others))
    if os.environ.get(job.FOLDER):
        kept = job.write({**record, "report": sent(own)})
        return explanation, word("job_kept", own.language, rank=record["rank"]) if kept else ""
    line = relation(record, first_of(record["earlier"]), own.language) if record["earlier"] else ""
    return explanation, line and f"explainer: {line}"


def relation(record: Record, first: Record, language: str) -> str:
    """What a rank's error has to do with the one that failed first, in a line; empty for an error of its own."""
    if apart(record, first):
        said = [word("job_call", language, **_ranks(one), **one["call"]) for one in (first, record)]
        return word("job_collectives", language, listed=word("listed", language).join(said))
    ranks = {**_ranks(record), "other": first["rank"]}
    if record["same"] == first["same"] or (record["lost"] and first["lost"]):
        return word("job_same", language, **ranks)
    return word("job_lost", language, **ranks, place=record["place"], at=first["place"]) if record["lost"] else ""


def apart(record: Record, first: Record) -> bool:
    """Whether two ranks were in different collectives."""
    return bool(record["call"] and first["call"]) and collectives.differ(first["call"], record["call"])


def _ranks(record: Record) -> Mapping[str, str]:
    return collectives.numbered(record.get("ranks", [record["rank"]]))


def alike(records: Iterable[Record]) -> list[Record]:
    """One record for all `ranks` that failed at the same line in the same way: one that was explained, if any was."""
    groups: dict[str, list[Record]] = {}
    for one in sorted(records, key=lambda one: int(one["rank"])):
        key = json.dumps([one["same"], one["lost"], one["place"], one["call"]])
        groups.setdefault(key, []).append(one)
    found = [(min(row, key=lambda one: "report" not in one), row) for row in groups.values()]
    return [{**one, "ranks": [each["rank"] for each in row]} for one, row in found]


def first_of(records: Sequence[Record]) -> Record:
    """The record of the rank that failed first, those that only lost another one behind all others."""
    return min(records, key=lambda one: (one["lost"], one["time"], one["rank"]))


def here() -> tuple[int | None, int]:
    """This process's rank and how many there are, from the launcher's variables or the process group."""
    with suppress(KeyError, ValueError):
        return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch: Any = sys.modules.get("torch")
    group = getattr(torch, "distributed", None) if "torch.distributed.distributed_c10d" in sys.modules else None
    if group is not None and group.is_available() and group.is_initialized():
        return group.get_rank(), group.get_world_size()
    return None, 1


def record(error: BaseException, stack: Any, rank: int, world: int) -> Record:
    """What a rank, or another child, leaves of its error: where and when it failed, in which collective."""
    frames = [frame for frame, _ in traceback.walk_tb(stack)]
    lines = [line for _, line in traceback.walk_tb(stack)]
    own = [at for at, frame in enumerate(frames) if is_user_file(frame.f_code.co_filename)]
    place = f"{os.path.relpath(frames[own[-1]].f_code.co_filename)}:{lines[own[-1]]}" if own else "?"
    message = str(error) if type(error).__module__ in ("builtins", "torch", "torch.distributed") else ""
    return {
        "rank": rank,
        "world": world,
        "process": os.getpid(),
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
    return {**collectives.described(found), "place": place}
