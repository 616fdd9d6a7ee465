"""What a program saves: the shapes of the tensors of each file, by their keys."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from explainer.oracle.places import Places

#: How many files, tensors of each, and how many containers inside of each other are looked at.
_FILES, _TENSORS, _DEEP = 20, 2000, 5


class Saves:
    """Notes the shapes of what is given to `torch.save`, in the order of the calls."""

    def __init__(self) -> None:
        self.rows: list[dict[str, list[int]]] = []

    def watch(self, torch: Any, places: Places) -> None:
        """Begin to watch."""
        plain = torch.save

        @functools.wraps(plain)
        def save(kept: Any, *args: Any, **words: Any) -> Any:
            with suppress(Exception):
                if not places.over and len(self.rows) < _FILES:
                    found = zip(_shapes(kept, "", torch, _DEEP), range(_TENSORS), strict=False)
                    self.rows.append({key: shape for (key, shape), _ in found})
            return plain(kept, *args, **words)

        places.put(torch, "save", save)


def _shapes(kept: Any, key: str, torch: Any, deep: int) -> Iterator[tuple[str, list[int]]]:
    if isinstance(kept, torch.Tensor):
        yield key, list(kept.shape)
    elif deep and isinstance(kept, torch.nn.Module):
        yield from _shapes(kept.state_dict(), key, torch, deep - 1)
    elif isinstance(kept, list) and kept and all(type(one) is int for one in kept):
        yield key, [len(kept)]  # the parameters of an optimizer's group
    elif deep and isinstance(kept, (dict, list, tuple)):
        inner = kept.items() if isinstance(kept, dict) else enumerate(kept)
        for name, one in inner:
            yield from _shapes(one, f"{key}/{name}", torch, deep - 1)


def resized(rows: list[Mapping[str, list[int]]], before: list[Mapping[str, list[int]]]) -> bool:
    """Whether a tensor has another shape in a file than it had under its key before."""
    pairs = zip(rows, before, strict=False)
    return any(one[key] != was[key] for one, was in pairs for key in one.keys() & was.keys())
