"""`torch.cuda` without CUDA: the functions that programs call about devices, streams, memory and random numbers."""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from typing import Any

import torch

from explainer.replay.standin.places import numbered, said, say

#: What does nothing.
_QUIET = (
    *("synchronize", "empty_cache", "ipc_collect", "init", "_lazy_init", "set_device", "set_stream"),
    *("reset_peak_memory_stats", "reset_max_memory_allocated", "reset_accumulated_memory_stats"),
    *("manual_seed", "manual_seed_all", "seed", "seed_all", "set_rng_state", "set_rng_state_all"),
    "set_per_process_memory_fraction",
)
#: What answers 0.
_NUMBERS = (
    *("memory_allocated", "memory_reserved", "max_memory_allocated", "max_memory_reserved", "memory_cached"),
    *("current_device", "initial_seed"),
)


def replace(about: Mapping[str, Any]) -> None:
    """Have torch answer as with such devices (see `described`)."""
    for name, value in _answers(about).items():
        if hasattr(torch.cuda, name):
            setattr(torch.cuda, name, value)
    for module in [module for name, module in list(sys.modules.items()) if name.startswith("torch.cuda.")]:
        for name in [name for name in vars(module) if name.startswith("_cuda_")]:  # what they call of CUDA itself
            setattr(module, name, _answering(None))
    torch.cuda.Event, torch.cuda.Stream = _Event, _Quiet  # type: ignore[misc, assignment]
    torch.cuda.stream = torch.cuda.device = _Quiet  # type: ignore[misc, assignment]
    torch.Tensor.record_stream = _answering(None)  # type: ignore[method-assign] # torch reads its argument first
    torch.Generator = _Generator  # type: ignore[misc]
    torch.backends.cudnn.is_acceptable = lambda *_: False  # type: ignore[assignment]
    common: Any = torch.cuda.amp.common
    common.amp_definitely_not_available = lambda: False
    _pin_in_loaders()
    _cast_on_cpu()
    _keep_places_in_files()


def _answers(about: Mapping[str, Any]) -> dict[str, Any]:
    count, memory = int(about["count"]), int(about["memory"])
    known = types.SimpleNamespace(
        name=about["name"],
        major=about["capability"][0],
        minor=about["capability"][1],
        total_memory=memory,
        multi_processor_count=1,
    )
    return {
        **{name: _answering(None) for name in _QUIET},
        **{name: _answering(0) for name in _NUMBERS},
        "is_available": lambda: True,
        "is_current_stream_capturing": lambda: False,
        "is_bf16_supported": lambda *_, **__: True,
        "device_count": lambda: count,
        "get_device_name": lambda *_, **__: known.name,
        "get_device_capability": lambda *_, **__: (known.major, known.minor),
        "get_device_properties": lambda *_, **__: known,
        "mem_get_info": lambda *_, **__: (memory, memory),
        "memory_stats": lambda *_, **__: {},
        "memory_summary": lambda *_, **__: "",
        "get_rng_state": lambda *_, **__: torch.get_rng_state(),
        "get_rng_state_all": lambda: [torch.get_rng_state() for _ in range(count)],
        "current_stream": lambda *_, **__: _Quiet(),
        "default_stream": lambda *_, **__: _Quiet(),
    }


def _answering(value: Any) -> Any:
    """A function of its own with this answer: torch's compiler wants no function under two names."""
    return lambda *_, **__: value


class _Quiet:
    """In the place of a stream, an event, or the choice of either: does nothing."""

    def __init__(self, *_: Any, **__: Any):
        pass

    def __enter__(self) -> _Quiet:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: 0.0 if name == "elapsed_time" else True if name == "query" else None


class _Event(_Quiet):
    """In the place of an event: it tells times where it was made to."""

    def __init__(self, enable_timing: bool = False, *_: Any, **__: Any):
        self.timed = enable_timing

    def elapsed_time(self, other: _Event) -> float:
        """Milliseconds between two events, as if they were some."""
        if not (self.timed and other.timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        return 1.0


class _Generator(torch._C.Generator):
    """A generator of the CPU that is said to be of another device."""

    said: torch.device

    def __new__(cls, device: Any = "cpu") -> _Generator:
        made = super().__new__(cls)
        made.said = torch.device(device)
        return made

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return self.said


def _pin_in_loaders() -> None:
    """Loaders without workers pin what they are asked to, as with CUDA."""
    loading = torch.utils.data.dataloader._SingleProcessDataLoaderIter
    plain = loading.__init__

    def init(self: Any, loader: Any) -> None:
        plain(self, loader)
        self._pin_memory = bool(loader.pin_memory)

    loading.__init__ = init  # type: ignore[method-assign]


def _cast_on_cpu() -> None:
    """Autocast for CUDA casts as the CPU's does, to the type that CUDA's would."""
    plain = torch.amp.autocast_mode.autocast.__init__

    def init(self: Any, device_type: str, dtype: Any = None, *rest: Any, **named: Any) -> None:
        if device_type == "cuda":
            device_type, dtype = "cpu", dtype or torch.float16
        plain(self, device_type, dtype, *rest, **named)

    torch.amp.autocast_mode.autocast.__init__ = init  # type: ignore[method-assign]


def _keep_places_in_files() -> None:
    """Checkpoints tell the device that a tensor was said to be on, and are loaded to it."""

    def tag(storage: Any) -> str | None:
        where = said(getattr(storage, "_untyped_storage", storage))
        return str(where) if where is not None else None

    def load(storage: Any, location: str) -> Any:
        if not location.startswith("cuda"):
            return None
        say(getattr(storage, "_untyped_storage", storage), numbered(location))
        return storage

    torch.serialization.register_package(5, tag, load)
