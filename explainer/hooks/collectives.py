"""In a rank under `explain run`: its last collective, left in the job's folder, where it outlives an abort of the rank.

A rank that gloo or NCCL's watchdog aborts runs no Python any more, and one that waits for it is ended soon after.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import types
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from explainer.arrival import when_imported
from explainer.locale import word
from explainer.userframes import is_user_file

_HOME = "torch.distributed.distributed_c10d"
#: What `torch.distributed` calls of a process group in a collective; `send` and `recv` are between two ranks.
_METHODS = (
    *("allreduce", "allreduce_coalesced", "broadcast", "reduce", "barrier", "gather", "scatter", "alltoall"),
    *("allgather", "_allgather_base", "allgather_coalesced", "allgather_into_tensor_coalesced", "alltoall_base"),
    *("reduce_scatter", "_reduce_scatter_base", "reduce_scatter_tensor_coalesced"),
    *("all_gather_single", "reduce_scatter_single", "all_to_all_single"),
)
#: Those in which all ranks give tensors of one shape and dtype.
_ALIKE = ("all_reduce", "broadcast", "reduce", "all_gather_into_tensor", "reduce_scatter_tensor")
#: How many tensors of a collective, and ranks, are named, and how many bytes are kept of a collective.
_MOST, _SIZE = 4, 1024
#: How many ranks that are alike are named.
_NAMED = 8
Call = Mapping[str, Any]


def keep(folder: str, rank: str) -> None:
    """Have each collective of this rank leave what it is given in a file before it begins."""
    file = os.open(Path(folder) / f"rank-{rank}.call", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    when_imported(_HOME, lambda: _watch(file))


def last_calls(folder: Path) -> dict[int, Call]:
    """The last collective of each rank that left one."""
    found = {}
    for path in sorted(folder.glob("rank-*.call")):
        with suppress(OSError, ValueError):
            found[int(path.stem.removeprefix("rank-"))] = json.loads(path.read_text(encoding="utf-8"))
    return found


def differing(calls: Mapping[int, Call]) -> dict[int, Call]:
    """Those of the ranks that came to the same turn in a group with other collectives; empty where none are known."""
    turns: dict[tuple[str, int], dict[int, Call]] = defaultdict(dict)
    for rank, call in calls.items():
        turns[call["group"], call["turn"]][rank] = call
    for met in turns.values():
        if any(differ(one, other) for one in met.values() for other in met.values()):
            return met
    return {}


def differ(one: Call, other: Call) -> bool:
    """Whether two ranks were in different collectives, or gave other shapes or dtypes where all must give the same."""
    return one["op"] != other["op"] or (one["op"] in _ALIKE and one["tensors"] != other["tensors"])


def apart(calls: Mapping[int, Call], language: str) -> str:
    """The different collectives in which ranks met, each with the ranks that were in it; empty for none."""
    met, kinds = differing(calls), defaultdict(list)
    for rank in sorted(met):
        kinds[met[rank]["op"], met[rank]["tensors"]].append(rank)
    shown = list(kinds.values())[:_MOST]
    return word("listed", language).join(
        word("job_call", language, **numbered(ranks), **met[ranks[0]]) for ranks in shown
    )


def numbered(ranks: Sequence[Any]) -> dict[str, str]:
    """The numbers of one rank, or of several, for a sentence of the locale, with the endings that go with them."""
    shown = ", ".join(map(str, ranks[:_NAMED])) + ", ..." * (len(ranks) > _NAMED)
    several = len(ranks) > 1
    return {"rank": shown, "s": "s" * several, "was": "were" if several else "was"}


def last_of(calls: Mapping[int, Call], language: str) -> list[str]:
    """A line each on what the first few ranks were in last."""
    return [word("job_last", language, rank=rank, **calls[rank]) for rank in sorted(calls)[:_MOST]]


def described(frame: types.FrameType) -> dict[str, str]:
    """The collective that a frame of torch.distributed carries out, and the tensors that it was given."""
    named = frame.f_code.co_varnames[: frame.f_code.co_argcount]
    values = frame.f_locals
    tensors = [said for name in named for said in _said(name, values.get(name))]
    return {"op": frame.f_code.co_name, "tensors": ", ".join(tensors[:_MOST])}


def _said(name: str, value: Any) -> Iterator[str]:
    """A tensor, or the first of a list of them, by shape and dtype."""
    torch: Any = sys.modules["torch"]
    many = type(value) in (list, tuple) and len(value) > 0
    one = value[0] if many else value
    if isinstance(one, torch.Tensor):
        count = f"{len(value)} x " if many else ""
        yield f"{name} {count}{list(one.shape)} {str(one.dtype).removeprefix('torch.')}"


def _watch(file: int) -> None:
    group: Any = sys.modules[_HOME].ProcessGroup  # type: ignore[attr-defined]
    turns: Counter[str] = Counter()
    for name in _METHODS:
        if hasattr(group, name):
            setattr(group, name, _noted(getattr(group, name), file, turns))


def _noted(method: Any, file: int, turns: Counter[str]) -> Any:
    @functools.wraps(method)
    def noted(self: Any, *given: Any, **named: Any) -> Any:
        with suppress(Exception):
            _note(self.group_name, sys._getframe(1), file, turns)
        return method(self, *given, **named)

    return noted


def _note(group: str, frame: types.FrameType, file: int, turns: Counter[str]) -> None:
    turns[group] += 1
    attempt = int(os.environ.get("TORCHELASTIC_RESTART_COUNT") or 0)
    call = {**described(frame), "place": _place(frame), "group": group, "turn": turns[group], "attempt": attempt}
    said = json.dumps(call).encode()
    if len(said) <= _SIZE:  # else the one before stays: what is cut cannot be read
        os.pwrite(file, said.ljust(_SIZE), 0)


def _place(frame: types.FrameType | None) -> str:
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{_shown(frame.f_code.co_filename)}:{frame.f_lineno}" if frame is not None else "?"


@functools.lru_cache(maxsize=64)
def _shown(file: str) -> str:
    """A file as people call it in the folder where the program was started."""
    return os.path.relpath(file)
