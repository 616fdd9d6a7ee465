"""Tensors in nested lists, tuples and dicts: what modules are given and hand back."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from explainer.replay.recorders.values import those

Change = Callable[[Any], Any]
_DEPTH = 4
#: How many values of a tensor are looked at, about.
_LOOKED_AT = 1024


def tensors(value: Any, depth: int = _DEPTH) -> Iterator[Any]:
    """The tensors in a value, in order."""
    return those(value, _torch().Tensor, depth)


def mapped(value: Any, change: Callable[[Any], Any], depth: int = _DEPTH) -> Any:
    """The value with its tensors changed; other objects as they are."""
    if isinstance(value, _torch().Tensor):
        return change(value)
    if depth and type(value) in (list, tuple):
        return type(value)(mapped(one, change, depth - 1) for one in value)
    if depth and type(value) is dict:
        return {name: mapped(one, change, depth - 1) for name, one in value.items()}
    return value


def changing(chosen: int, picked: Callable[[Any], bool], first: Change, change: Change) -> Change:
    """Makes `first` of every tensor, and `change` of a copy of that of the `chosen`-th (from 0) of those `picked`."""
    seen = itertools.count()

    def changed(one: Any) -> Any:
        part = first(one)
        return change(part.clone()) if picked(one) and next(seen) == chosen else part

    return changed


def outline(value: Any, depth: int = _DEPTH) -> str:
    """How a value is made up: `(t, t)` of two tensors; what is no tensor is `-`."""
    if isinstance(value, _torch().Tensor):
        return "t"
    if depth and isinstance(value, (list, tuple)):
        return f"({', '.join(outline(one, depth - 1) for one in value)})"
    if depth and isinstance(value, dict):
        return f"{{{', '.join(f'{name}: {outline(one, depth - 1)}' for name, one in value.items())}}}"
    return "-"


def digest(tensor: Any) -> list[float] | None:
    """Numbers by which to tell whether a tensor holds the same, from some of its values; None where it has none."""
    if tensor.is_sparse or tensor.is_quantized or tensor.is_meta or not tensor.is_contiguous() or not tensor.numel():
        return None
    flat = tensor.detach().view(-1)[:: 1 + tensor.numel() // _LOOKED_AT]
    flat = (flat.abs() if flat.is_complex() else flat).double()
    ramp = _torch().arange(1, flat.numel() + 1, dtype=flat.dtype)
    return [float(flat.sum()), float(flat.abs().sum()), float((flat * ramp).sum())]


def _torch() -> Any:
    import torch

    return torch
