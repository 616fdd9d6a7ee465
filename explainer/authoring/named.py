"""Stands in for a fact that is not known: renders as its own name, so that a page can show a rule's words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class Named:
    """`x.shape[-1]` in a template becomes the text `x.shape[-1]`."""

    def __init__(self, name: str):
        self.name_ = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return Named(f"{self.name_}.{name}")

    def __getitem__(self, key: Any) -> Named:
        return Named(f"{self.name_}[{key}]")

    def __iter__(self) -> Iterator[Named]:
        return iter((self,))

    def __len__(self) -> int:
        return 1

    def __contains__(self, item: Any) -> bool:
        return True

    def __str__(self) -> str:
        return f"‹{self.name_}›"

    __repr__ = __str__

    def __format__(self, form: str) -> str:
        return str(self)

    def __call__(self, *arguments: Any, **named: Any) -> Named:
        return self

    def _same(self, *other: Any) -> Named:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = __abs__ = __round__ = _same
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _same

    def _true(self, other: Any) -> bool:
        return True

    __lt__ = __le__ = __gt__ = __ge__ = _true

    def __int__(self) -> int:
        return 1

    __index__ = __int__

    def __float__(self) -> float:
        return 1.0

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other)

    def __hash__(self) -> int:
        return hash(self.name_)
