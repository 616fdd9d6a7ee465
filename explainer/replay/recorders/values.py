"""Values as a recording notes them: what a call was given, flat; shapes, dtypes and extents of tensors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any


def those(value: Any, kind: type, depth: int = 4) -> Iterator[Any]:
    """The objects of a kind in nested lists, tuples and dicts, in order."""
    if isinstance(value, kind):
        yield value
    elif depth and isinstance(value, (list, tuple)):
        for one in value:
            yield from those(one, kind, depth - 1)
    elif depth and isinstance(value, dict):
        for one in value.values():
            yield from those(one, kind, depth - 1)


def flat(value: Any, deep: int = 3) -> Iterator[Any]:
    """The values of nested lists and tuples, of sizes the numbers; at most 64 of each list."""
    if isinstance(value, (list, tuple)) and deep and type(value).__name__ != "Size":
        for one in value[:64]:
            yield from flat(one, deep - 1)
    elif type(value).__name__ == "Size":
        yield from value
    else:
        yield value


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor; torch is imported by then."""
    return isinstance(value, sys.modules["torch"].Tensor)


def is_parameter(value: Any) -> bool:
    """Whether a value is a parameter of a module."""
    return isinstance(value, sys.modules["torch"].nn.Parameter)


def is_number(value: Any) -> bool:
    """Whether a value is an integer and no bool."""
    return issubclass(type(value), int) and type(value) is not bool  # `isinstance` asks a proxy for its `__class__`


def described(tensor: Any) -> list[Any]:
    """Shape and dtype."""
    return [[int(size) for size in tensor.shape], str(tensor.dtype).replace("torch.", "")]


def _at_hand(tensor: Any) -> bool:
    """Whether a tensor's values are in this process's own memory, whatever device a stand-in has it say."""
    try:
        return bool(tensor.untyped_storage().device.type == "cpu")
    except (NotImplementedError, RuntimeError):  # sparse ones have no storage
        return False


def extent(tensor: Any, floats: bool = False) -> list[int] | None:
    """Least and greatest value of an integer tensor, and how many it has; with `floats` of one of whole numbers too."""
    if tensor.numel() == 0 or tensor.is_complex() or not _at_hand(tensor):
        return None
    if tensor.is_floating_point() and not (floats and bool((tensor == tensor.round()).all())):
        return None
    return [int(tensor.min()), int(tensor.max()), int(tensor.detach().unique().numel())]


#: Of how many numbers the greatest is noted.
_COUNTS = 256


def greatest(tensor: Any) -> int | None:
    """The greatest of a few whole numbers in a row, such as lengths; None of any other tensor."""
    few = tensor.dim() < 2 and 0 < tensor.numel() <= _COUNTS and str(tensor.dtype)[:9] == "torch.int"
    return max(tensor.reshape(-1).tolist()) if few and _at_hand(tensor) else None
