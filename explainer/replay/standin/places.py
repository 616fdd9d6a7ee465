"""Which device a tensor is said to be on: noted with its storage, which views, parameters and `.data` share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch

from explainer.replay.standin import room

CPU = torch.device("cpu")
#: Where a tensor is that torch itself makes from nothing, in an operator or backwards: wherever it is needed.
ANYWHERE = torch.device("meta")
_NOTE = "_said_to_be_on"


def place(tensor: torch.Tensor) -> torch.device:
    """The device that a tensor is said to be on."""
    noted = note(tensor)
    return CPU if noted is ANYWHERE else noted


def note(tensor: torch.Tensor) -> torch.device:
    """The device that a tensor is said to be on, or `ANYWHERE`."""
    try:
        return said(tensor.untyped_storage()) or _real(tensor)
    except (NotImplementedError, RuntimeError):  # sparse ones have no storage
        return _real(tensor)


def put(value: Any, device: torch.device) -> Any:
    """The value, its tensors from now on said to be on a device."""
    for one in tensors(value):
        try:
            storage = one.untyped_storage()
        except (NotImplementedError, RuntimeError):
            continue
        say(storage, device)
    return value


def tensors(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in an argument or a result of an operator."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from tensors(one)
    elif isinstance(value, dict):
        yield from tensors(list(value.values()))


def numbered(device: Any) -> torch.device:
    """A device as torch names it: of CUDA with its number."""
    if isinstance(device, int):
        return torch.device("cuda", device)
    device = torch.device(device)
    return torch.device("cuda", device.index or 0) if device.type == "cuda" else device


def said(storage: Any) -> torch.device | None:
    """What is noted with a storage; None where nothing is."""
    return getattr(storage, _NOTE, None)


def say(storage: Any, device: torch.device) -> None:
    """Note with a storage where its tensors are; the error of CUDA's where it has no room for them."""
    if device.type == "cuda":
        room.take(storage)
    setattr(storage, _NOTE, device if device != CPU else None)


def storages(values: Iterable[torch.Tensor]) -> set[int]:
    """The identities of tensors' storages."""
    found = set()
    for one in values:
        try:
            found.add(one.untyped_storage()._cdata)
        except (NotImplementedError, RuntimeError):
            continue
    return found


def _real(tensor: torch.Tensor) -> torch.device:
    with torch._C.DisableTorchFunction():
        return tensor.device
