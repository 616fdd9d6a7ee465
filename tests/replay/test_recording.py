"""What a recording takes down of a frame: nothing that a program holds may end it."""

from __future__ import annotations

import functools
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from explainer.replay.recorders.scope import scope

pytest.importorskip("torch")


class Hostile:
    """Its attributes raise, and it says that it has all of them."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


class Slots:
    """An object without a place for fields."""

    __slots__ = ("width",)

    def __init__(self) -> None:
        self.width = 3

    def method(self) -> None:
        """Stands for a layer's forward that a local name holds."""


class Odd:
    """An object whose `__dict__` is none."""

    __dict__ = property(lambda self: 1 / 0)  # type: ignore[assignment]


ODD = {
    "a bound method": Slots().method,
    "a builtin": len,
    "a method of a builtin": [].append,
    "a slot": Slots.width,
    "slots": Slots(),
    "a property that raises": Odd(),
    "attributes that raise": Hostile(),
    "a partial": functools.partial(int, base=2),
    "a generator": (one for one in ()),
    "a namespace": types.SimpleNamespace(width=4),
    "a proxy": types.MappingProxyType({"width": 5}),
    "a path": Path("."),
    "a weak reference's like": type("Empty", (), {"__slots__": ()})(),
}


@pytest.mark.parametrize("name", ODD)
def test_any_value_of_a_frame_leaves_the_others_told(name: str) -> None:
    """A local that cannot be looked into is left out; the sizes beside it are there."""
    width, value = 7, ODD[name]
    found = scope(sys._getframe())
    assert found["width"] == width
    assert value is ODD[name]


def test_fields_of_a_plain_object_are_told() -> None:
    """Settings in an object, which edits read their numbers from."""
    settings = types.SimpleNamespace(heads=4)
    assert scope(sys._getframe())["settings.heads"] == settings.heads
