"""What a program joins: how large the parts are, and which names stand for sizes. So sums are told from chance."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from explainer.oracle.places import Places

_JOINS = ("cat", "concat", "concatenate", "hstack")
_MOST = 100


class Parts:
    """Watches joins; `rows` are the sizes of the parts along the dimension that they are joined in, each once."""

    def __init__(self) -> None:
        self.rows: set[tuple[int, ...]] = set()

    def watch(self, torch: Any, places: Places) -> None:
        """Put watched functions in the place of those that join."""
        for name in _JOINS:
            places.put(torch, name, self._watched(getattr(torch, name)))

    def _watched(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(plain)
        def joined(parts: Any, *args: Any, **words: Any) -> Any:
            made = plain(parts, *args, **words)
            if len(self.rows) < _MOST and isinstance(parts, (list, tuple)):
                for at, size in enumerate(made.shape):
                    sizes = tuple(int(one.shape[at]) for one in parts)
                    self.rows |= {sizes} if size == sum(sizes) else set()
            return made

        return joined


def numbers(folder: str) -> dict[str, int]:
    """The whole numbers among the names of the program's own modules."""
    own = [one for one in list(sys.modules.values()) if str(getattr(one, "__file__", None) or "").startswith(folder)]
    named = [(name, value) for module in own for name, value in list(vars(module).items()) if type(value) is int]
    return dict(named[:_MOST])
