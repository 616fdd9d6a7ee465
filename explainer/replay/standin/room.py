"""How much memory CUDA had for the process, and its being used up: bytes of the tensors that are said to be there."""

from __future__ import annotations

import re
import weakref
from typing import Any

_UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_SIZE = r"([\d.]+) (bytes|[KMGT]iB)"
_ALLOWED = re.compile(rf"{_SIZE} allowed;")
#: What is free on the card, what tensors take, and what the allocator keeps beside them.
_PARTS = (
    rf"of which {_SIZE} is free",
    rf"allocated memory {_SIZE} is allocated",
    rf"and {_SIZE} is reserved by PyTorch",
)

_limit: list[int] = []
_taken: dict[int, int] = {}


def told(message: str) -> int | None:
    """The bytes that this process's tensors could have on the GPU, by a message that it is full; None elsewhere."""
    if "CUDA out of memory" not in message:
        return None
    allowed, parts = _ALLOWED.search(message), [re.search(part, message) for part in _PARTS]
    if allowed is not None:
        return _bytes(allowed)
    return (
        sum(_bytes(part) for part in parts if part is not None)
        if parts[0] is not None and parts[1] is not None
        else None
    )


def _bytes(found: re.Match[str]) -> int:
    return int(float(found[1]) * _UNITS[found[2]])


def limit(size: int | None) -> None:
    """From now on tensors may take so many bytes in all; None: as many as there is memory."""
    _limit[:] = [size] if size is not None else []


def take(storage: Any) -> None:
    """Count a storage that is there now, as long as it lives; the error of CUDA's where there is no room for it."""
    if not _limit or storage._cdata in _taken:
        return
    size, key, live = storage.nbytes(), storage._cdata, sum(_taken.values())
    if live + size > _limit[0]:
        raise _full(size, live)
    _taken[key] = size
    weakref.finalize(storage, _taken.pop, key, None)


def _full(size: int, live: int) -> BaseException:
    import torch

    mib = lambda number: f"{number / (1 << 20):.2f} MiB"  # noqa: E731
    room = _limit[0]
    kind = getattr(torch, "OutOfMemoryError", torch.cuda.OutOfMemoryError)
    return kind(
        f"CUDA out of memory. Tried to allocate {mib(size)}. GPU 0 has a total capacity of {mib(room)} of which "
        f"{mib(room - live)} is free. Including non-PyTorch memory, this process has {mib(live)} memory in use. "
        f"{mib(room)} allowed; Of the allocated memory {mib(live)} is allocated by PyTorch, and 0 bytes is reserved by "
        "PyTorch but unallocated."
    )
