"""A cast to integers at an edited line, of values that are not whole: what it cuts off is gone."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from explainer.oracle.places import Places

_METHODS = ("long", "int", "short", "char", "byte", "to", "type", "type_as")
_MAKERS = ("tensor", "as_tensor", "asarray")


class Casts:
    """Watches casts; `cut` is the place of the first that took something away."""

    def __init__(self, places: Places):
        self.places = places
        self.cut: list[Any] | None = None

    def watch(self, torch: Any) -> None:
        """Put watched functions in the place of those that cast."""
        for name in _METHODS:
            self.places.put(torch.Tensor, name, self._watched(torch, getattr(torch.Tensor, name)))
        for name in _MAKERS:
            if hasattr(torch, name):
                self.places.put(torch, name, self._watched(torch, getattr(torch, name)))

    def _watched(self, torch: Any, plain: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(plain)
        def cast(given: Any, *args: Any, **words: Any) -> Any:
            made = plain(given, *args, **words)
            if self.cut is None and _whole_numbers(made, torch) and self.places.is_edited():
                self._compare(torch, given, made)
            return made

        return cast

    def _compare(self, torch: Any, given: Any, made: Any) -> None:
        before = given if isinstance(given, torch.Tensor) else _as_tensor(torch, given)
        if before is not None and before.is_floating_point() and before.shape == made.shape:
            finite = before.detach().nan_to_num()
            if bool((finite != finite.round()).any()):
                self.cut = list(self.places.at(self.places.innermost()))


def _whole_numbers(made: Any, torch: Any) -> bool:
    if not isinstance(made, torch.Tensor) or made.is_meta:
        return False
    return not (made.is_floating_point() or made.is_complex() or made.dtype == torch.bool)


def _as_tensor(torch: Any, given: Any) -> Any:
    import numpy

    try:
        return torch.from_numpy(numpy.asarray(given, dtype="float64"))
    except (TypeError, ValueError):
        return None
