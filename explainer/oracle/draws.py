"""The sizes of the random data that a program draws for itself: they stand for real data, which is as it is."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from explainer.oracle.places import Places

_OF_TORCH = ("rand", "randn", "randint", "normal")
_OF_NUMPY = ("rand", "randn", "randint", "normal", "uniform", "random", "standard_normal", "random_sample")
_MOST = 300


class Draws:
    """Watches draws outside of modules; `rows` are their functions and shapes, in order."""

    def __init__(self, places: Places):
        self.places = places
        self.rows: list[list[Any]] = []

    def watch(self, torch: Any) -> None:
        """Put watched functions in the place of those that draw."""
        owners: list[tuple[Any, Sequence[str]]] = [(torch, _OF_TORCH)]
        if "numpy" in sys.modules:
            owners.append((sys.modules["numpy"].random, _OF_NUMPY))
        self._module = torch.nn.Module
        _known_to_devices()
        for owner, names in owners:
            for name in names:
                self.places.put(owner, name, self._watched(name, getattr(owner, name)))

    def _watched(self, name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(plain)
        def drawn(*args: Any, **words: Any) -> Any:
            made = plain(*args, **words)
            frame = self.places.innermost() if len(self.rows) < _MOST else None
            if frame is not None and not isinstance(frame.f_locals.get("self"), self._module):
                self.rows.append([name, [int(size) for size in getattr(made, "shape", ())]])
            return made

        return drawn

    def of_data(self, roots: Iterable[Any]) -> list[list[Any]]:
        """The rows; without its shape what has that of a parameter of one of the modules: it is drawn to be one."""
        weights = {tuple(one.shape) for root in roots for one in root.parameters() if hasattr(one, "shape")}
        return [[name, None if tuple(shape) in weights else shape] for name, shape in self.rows]


def _known_to_devices() -> None:
    """Have `torch.set_default_device` look now at what makes tensors: it does so once, and knows them by identity."""
    from torch.utils import _device

    getattr(_device, "_device_constructors", list)()


def other_sizes(before: Sequence[Sequence[Any]], after: Sequence[Sequence[Any]]) -> bool:
    """Whether two runs that draw by the same functions drew other sizes, and not those of other data of the program."""
    known = [[name, shape] for name, shape in before]
    for (name, shape), (other, size) in zip(before, after, strict=False):
        if name != other:
            return False
        if None not in (shape, size) and shape != size and [name, size] not in known:
            return True
    return False
