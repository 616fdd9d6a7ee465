"""What stands in samples under a key: some are made in a sandboxed child, and the source of a filler is written."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from explainer.replay.run import sandboxed, why_not

if TYPE_CHECKING:
    from explainer.probes.scene import Scene

#: Keys, and the source of a filler for each.
Fillers = tuple[tuple[str, str], ...]
#: How many samples are made, how many seconds that may take, and how long a list may be that is written out.
_MOST, _LONGEST, _LENGTH = 100, 0.8, 8


def fillers_like_samples(scene: Scene, dataset: Any, keys: Sequence[Any]) -> Fillers:
    """Fillers for keys that some of a dataset's first samples have; none where nothing may run."""
    if why_not(scene) is not None:
        return ()
    found = sandboxed(scene, functools.partial(_fillers_of, dataset, keys), _LONGEST)
    return tuple((str(key), str(text)) for key, text in found or ())


def fillers_in(samples: Iterable[Any], keys: Sequence[Any]) -> Fillers:
    """Fillers for keys, those of the first sample which has the first of them, in itself or in a dict inside of it."""
    for sample in samples:
        held = next(_with(sample, keys[0]), {})
        found = [(str(key), filler(held[key])) for key in keys if key in held]
        if found and found[0][1] is not None:
            return tuple((key, text) for key, text in found if text is not None)
    return ()


def filler(value: Any) -> str | None:
    """The source of a value of the same type, shape and dtype that holds nothing: `torch.zeros(3)`, `0.0`, `""`."""
    import torch

    if isinstance(value, torch.Tensor):
        return _zeros(tuple(value.shape), value.dtype) if value.layout is torch.strided else None
    if type(value).__module__ == "numpy":
        return _of_numpy(value)
    if isinstance(value, (bool, int, float, str)):
        return {bool: "False", int: "0", float: "0.0", str: '""'}.get(type(value))
    if type(value) in (list, tuple) and 0 < len(value) <= _LENGTH:
        return _together(type(value), [filler(one) for one in value])
    return None


def _zeros(shape: tuple[int, ...], dtype: Any) -> str:
    import torch

    size = str(shape[0]) if len(shape) == 1 else str(shape)
    return f"torch.zeros({size})" if dtype == torch.get_default_dtype() else f"torch.zeros({size}, dtype={dtype})"


def _of_numpy(value: Any) -> str | None:
    import torch

    try:
        made = torch.as_tensor(value)
    except (TypeError, ValueError):
        return None
    if type(value).__name__ == "ndarray":
        return f"{_zeros(tuple(made.shape), made.dtype)}.numpy()"
    return "0.0" if made.is_floating_point() else "0"


def _together(kind: type, parts: list[str | None]) -> str | None:
    if None in parts:
        return None
    text = ", ".join(part for part in parts if part)
    return f"[{text}]" if kind is list else f"({text}{',' if len(parts) == 1 else ''})"


def _fillers_of(dataset: Any, keys: Sequence[Any]) -> Fillers:
    """In the child: make samples until one has the key."""
    streamed = not hasattr(type(dataset), "__getitem__") or not hasattr(type(dataset), "__len__")
    made = iter(dataset) if streamed else (dataset[index] for index in range(len(dataset)))
    return fillers_in(itertools.islice(made, _MOST), keys)


def _with(sample: Any, key: Any, deep: int = 3) -> Iterator[dict[Any, Any]]:
    """The dicts that have a key: a sample, or what stands in its dicts, lists and tuples."""
    if isinstance(sample, dict) and key in sample:
        yield sample
    parts = sample.values() if isinstance(sample, dict) else sample if isinstance(sample, (list, tuple)) else ()
    for part in parts if deep else ():
        yield from _with(part, key, deep - 1)
