"""The ranks of one job on this machine: each leaves the sizes of its weights in a file, and rank 0 compares them."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
import zlib
from typing import Any

import torch

from explainer.training.session import rank
from explainer.wrappers import class_name

#: Seconds that rank 0 waits for the others, which end when it does.
_PATIENCE = 10.0
#: Values from which on a tensor that ranks exchange in between is no mere metric.
_MANY = 64
#: Exchanges that are looked at: `torch.distributed.all_reduce(tensor)`.
_EXCHANGES = ("all_reduce", "broadcast", "all_gather", "all_gather_into_tensor", "reduce", "all_to_all")


def several() -> int:
    """How many ranks the job has, where all of them are on this machine; else 0."""
    count = os.environ.get("WORLD_SIZE", "1")
    return int(count) if count.isdigit() and int(count) > 1 and count == os.environ.get("LOCAL_WORLD_SIZE") else 0


def install(watcher: Any) -> None:
    """Watch what ranks exchange: between a backward and its step gradients are averaged, elsewhere perhaps weights."""
    distributed = getattr(torch, "distributed", None)
    if distributed is not None and distributed.is_available():
        for name in _EXCHANGES:
            watcher.patches.wrap(distributed, name, watcher.after(lambda _, args, __: _exchanged(watcher, args)))


def _exchanged(watcher: Any, args: Any) -> None:
    tensors = [one for one in args[:2] if isinstance(one, torch.Tensor)]
    if watcher.between and tensors:
        watcher.notes.counts["averaged"] += 1
    elif watcher.notes.steps and any(one.numel() >= _MANY for one in (*tensors, *_listed(args))):
        watcher.notes.counts["exchanged"] += 1


def _listed(args: Any) -> list[Any]:
    return [one for held in args[:2] if isinstance(held, list) for one in held if isinstance(one, torch.Tensor)]


def wrapped(watcher: Any) -> bool:
    """Whether the program wraps a model so that torch averages its gradients over the ranks."""
    return any(type(one).__name__ == "DistributedDataParallel" for one in watcher.notes.built.living())


def _weights(watcher: Any) -> dict[str, list[tuple[int, float]]]:
    """By its name, a weight's size at the steps looked at."""
    found: dict[str, list[tuple[int, float]]] = {}
    for entry in watcher.weights.values():
        if entry["held"] and entry["sizes"]:
            found.setdefault(f"{entry['class']} {entry['name']}", entry["sizes"])
    return found


def _path(number: int) -> str:
    """Where a rank leaves its file: a job has a name, or else its launcher is the parent of all ranks of a machine."""
    name = os.environ.get("TORCHELASTIC_RUN_ID", "none")
    parts = (os.getuid(), os.getppid() if name == "none" else zlib.crc32(name.encode()),
             os.environ.get("MASTER_PORT", ""), os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"), number)  # fmt: skip
    return os.path.join(tempfile.gettempdir(), f"explain-ranks-{'-'.join(map(str, parts))}.json")


def leave(watcher: Any) -> None:
    """Leave this rank's weights for rank 0."""
    if not watcher.ranks or not watcher.notes.steps:
        return
    with contextlib.suppress(OSError):
        path = _path(rank())
        descriptor = os.open(path + ".part", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(_weights(watcher), file)
        os.replace(path + ".part", path)


def drifted(watcher: Any) -> dict[str, Any] | None:
    """How the weights of this rank and of another one differ, though they evidently are to be the same."""
    own, counts = _weights(watcher), watcher.notes.counts
    if not watcher.ranks or rank() or not own:
        return None
    until = time.monotonic() + _PATIENCE
    for number in range(1, watcher.ranks):
        other = _left(number, until)
        found = _compared(own, other) if other is not None else None
        begun_alike = found is not None and found["since"] > 0
        if counts["exchanged"]:
            continue  # weights are averaged now and then, or each rank computes a part of each layer
        if found is not None and (begun_alike or counts["averaged"] or watcher.wrapped):
            return {**found, "rank": number, "ranks": watcher.ranks}
    return None


def _left(number: int, until: float) -> dict[str, Any] | None:
    """What a rank has left, once it is there."""
    path = _path(number)
    while time.monotonic() < until:
        try:
            if os.lstat(path).st_uid == os.getuid():
                with open(path, encoding="utf-8") as file:
                    held: dict[str, Any] = json.load(file)
                os.unlink(path)
                return held
            return None
        except (OSError, ValueError):
            time.sleep(0.05)
    return None


def _compared(own: dict[str, Any], other: dict[str, Any]) -> dict[str, Any] | None:
    """The weight that differs most where nearly all do, at the last look that both ranks had and ever since the first.

    `since` is how many looks found them alike before.
    """
    if set(own) != set(other):
        return None  # each has parts of its own
    rows = {name: [(step, one, dict(map(tuple, other[name])).get(step)) for step, one in own[name]] for name in own}
    differ = {name: [one is not None and _apart(value, one) for _, value, one in row] for name, row in rows.items()}
    apart = [name for name, row in differ.items() if row and row[-1] and all(row[row.index(True) :])]
    if len(apart) < 0.9 * len(own) or min(len(row) for row in rows.values()) < 4:
        return None
    name = max(apart, key=lambda one: abs(rows[one][-1][1] - rows[one][-1][2]))
    since = differ[name].index(True)
    step, mine, theirs = rows[name][-1]
    return {"name": name.partition(" ")[2], "class": name.partition(" ")[0], "since": since, "step": step,
            "first": rows[name][since][0], "own": mine, "other": theirs, "many": len(apart)}  # fmt: skip


def _apart(one: float, other: float) -> bool:
    return abs(one - other) > 1e-4 * max(abs(one), abs(other))


def begins(watcher: Any, of: Any) -> None:
    """Note how many ranks there are, and the sizes of an optimizer's weights before the first step of all."""
    watcher.ranks = several()
    for group in of.param_groups if watcher.ranks else ():
        watcher.begun.update({id(one): _size(one) for one in group["params"] if _whole(one)})


def _whole(parameter: Any) -> bool:
    """Whether a rank holds all of a weight: a shard is each rank's own."""
    return type(parameter) is torch.nn.Parameter and parameter.layout == torch.strided


def _size(parameter: Any) -> float:
    return float(torch.linalg.vector_norm(parameter.detach().double()))


def noted(watcher: Any, entry: dict[str, Any], root: Any, parameter: Any) -> None:
    """Note the size of a weight at a step that is looked at."""
    if watcher.ranks and _whole(parameter):
        entry["class"] = class_name(root)
        if not entry["sizes"] and id(parameter) in watcher.begun:
            entry["sizes"].append((0, watcher.begun[id(parameter)]))
        entry["sizes"].append((watcher.notes.steps, _size(parameter)))
        watcher.wrapped = watcher.wrapped or wrapped(watcher)
