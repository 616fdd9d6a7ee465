"""Functions of torch replaced while training is watched, and put back afterwards."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class Patches:
    """Replaced attributes, in order; `remove` puts back those that nobody else has replaced since."""

    def __init__(self) -> None:
        self._held: list[tuple[Any, str, Any, Any, bool]] = []

    def wrap(self, owner: Any, name: str, make: Callable[[Any], Callable[..., Any]]) -> None:
        """Replace `owner.name` by `make(original)`; nothing happens where this torch has no such attribute."""
        original = getattr(owner, name, None)
        if original is None:
            return
        own = name in vars(owner)
        made = functools.wraps(original)(make(original))
        setattr(owner, name, made)
        self._held.append((owner, name, original, made, own))

    def remove(self) -> None:
        """Put everything back."""
        for owner, name, original, made, own in reversed(self._held):
            if getattr(owner, name, None) is not made:
                continue
            if own:
                setattr(owner, name, original)
            else:
                delattr(owner, name)
        self._held.clear()
