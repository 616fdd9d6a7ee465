"""CUDA played on the CPU: a program that uses a GPU runs in a child that has none, and fails where it would fail there.

Every tensor is a CPU tensor; which device it is said to be on is noted with its storage. Operators that meet tensors of
two devices raise as CUDA does, those that CUDA would run late (an index out of range) raise at once, on their own line.
No GPU is touched: neither its memory nor a context that is dead.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

_played: dict[str, Any] = {}


def described(message: str = "") -> dict[str, Any] | None:
    """What this process's CUDA is like, to be played elsewhere; None where it does not use CUDA.

    `count` devices, their `name`, `capability` and `memory` in bytes, and `room`, what tensors could have of it where a
    `message` says so. Asks for what torch has at hand: a dead context answers no more.
    """
    if _played:
        return _played
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return None
    about: dict[str, Any] = {"count": 1, "name": "CUDA", "capability": [8, 0], "memory": 16 << 30}
    with suppress(Exception):
        about["count"] = torch.cuda.device_count()
    if message:
        from explainer.replay.standin import room

        about["room"] = room.told(message)
    with suppress(Exception):
        found = torch.cuda.get_device_properties(0)
        about.update(name=found.name, capability=[found.major, found.minor], memory=found.total_memory)
    return about


def enter(about: Mapping[str, Any]) -> None:
    """From now on this process, which must be one of ours, has such a CUDA. `leave` ends it."""
    from explainer.replay.standin import modes, room, runtime

    room.limit(about.get("room"))
    if not _played:
        runtime.replace(about)
        _played.update(about)
    if not modes.held:
        modes.enter(int(about["count"]))


def resume() -> None:
    """In a child: CUDA is played again, where it was until `leave`."""
    if _played:
        enter(_played)


def leave() -> None:
    """Tensors are again where they are, on the CPU; what is run again in children of this process has CUDA."""
    from explainer.replay.standin import modes, room

    room.limit(None)
    modes.leave()


@contextmanager
def as_in_a_fork() -> Iterator[None]:
    """Where CUDA is played and has been used, it cannot be meanwhile."""
    if not _played:
        yield
        return
    from explainer.replay.standin import modes

    modes.forked.append(True)
    try:
        yield
    finally:
        modes.forked.pop()
