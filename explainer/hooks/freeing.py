"""What a notebook keeps alive after an error: the error's frames, displayed results, names; `%explain --free`."""

from __future__ import annotations

import gc
import sys
import traceback
from collections.abc import Iterable, Iterator
from types import FunctionType, ModuleType
from typing import Any

from explainer.probes.values import fields_of
from explainer.userframes import chain

#: Names and results that are listed, the largest first.
_MOST = 5
_LAST = ("last_exc", "last_value", "last_type", "last_traceback")


def free(shell: Any) -> list[str]:
    """Let go of the last error and its frames; the lines that say what that freed, and what else holds tensors.

    Displayed results (`Out[3]`) and names are the user's own: they are listed, not deleted.
    """
    held = _bytes(_of_error(getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)))
    _forget(shell)
    lines = [f"the last error's frames held {_size(held)} of tensors; they are let go of"]
    out = {(f"Out[{number}]", f"%xdel _{number}"): value for number, value in dict(shell.user_ns["Out"]).items()}
    names = {
        (name, f"del {name}"): value
        for name, value in shell.user_ns.items()
        if not name.startswith("_") and name not in ("In", "Out")
    }
    found = sorted((-_bytes(tensors_in(value)), *called) for called, value in {**out, **names}.items())
    lines += [f"{name} keeps {_size(-size)} ({way})" for size, name, way in found[:_MOST] if size]
    return lines


def _forget(shell: Any) -> None:
    """Drop the error wherever Python and IPython keep it, empty its frames, and hand cached GPU memory back."""
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    for one in chain(error):
        traceback.clear_frames(one.__traceback__)
        one.__traceback__ = None  # the shell's last result keeps the error itself
    for name in _LAST:
        if hasattr(sys, name):
            setattr(sys, name, None)
    if hasattr(shell, "InteractiveTB"):
        shell.InteractiveTB.tb = None
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def _of_error(error: BaseException | None) -> Iterator[Any]:
    """The tensors in the frames of an error and of those that led to it."""
    for one in chain(error):
        for frame, _ in traceback.walk_tb(one.__traceback__):
            if frame.f_code.co_name != "<module>":
                yield from tensors_in(frame.f_locals)


def tensors_in(value: Any, depth: int = 4) -> Iterator[Any]:
    """The tensors that a value is or holds: in containers and attributes, a model's parameters and buffers."""
    torch = sys.modules.get("torch")
    if torch is None:
        return
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, torch.nn.Module):
        yield from (*value.parameters(), *value.buffers())
    elif depth:
        for one in _parts(value)[:1000]:
            yield from tensors_in(one, depth - 1)


def _parts(value: Any) -> list[Any]:
    """What a container holds, or the attributes of an object, an optimizer's too; the shell itself holds all names."""
    if isinstance(value, dict):
        return list(dict.values(value))
    if type(value) in (list, tuple, set):
        return list(value)
    of_shell = type(value).__module__.startswith(("IPython.", "ipykernel."))
    return [] if of_shell or isinstance(value, (type, ModuleType, FunctionType)) else [*fields_of(value).values()]


def _bytes(tensors: Iterable[Any]) -> int:
    """The bytes of storage behind tensors, each storage once; what has none (sparse, meta) counts nothing."""
    sizes: dict[int, int] = {}
    for tensor in tensors:
        try:
            storage = tensor.untyped_storage()
            sizes[storage.data_ptr()] = storage.nbytes()
        except (RuntimeError, NotImplementedError):
            continue
    return sum(size for address, size in sizes.items() if address)


def _size(count: int) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
