"""What an excerpt of a program asks of the process that crashed: values of its frames, its failing function again."""

from __future__ import annotations

import copy
import importlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

#: What a test's object is prepared with.
_SETUP = ("setUp", "setup_method")
_values: list[Mapping[str, Any]] = []


@contextmanager
def keeping(frames: Sequence[Mapping[str, Any]]) -> Iterator[None]:
    """Processes that are forked meanwhile know the names of the frames, outermost first."""
    _values[:] = frames
    try:
        yield
    finally:
        _values.clear()


def text(depth: int, name: str) -> str:
    """The expression that stands for a name of a frame in an excerpt."""
    return f'__import__("explainer.replay.held").replay.held.value({depth}, "{name}")'


def call(owner: str, name: str) -> str:
    """The statement that calls the outermost frame's function, or a class's method, once more."""
    return f'__import__("explainer.replay.held").replay.held.again(globals(), "{owner}", "{name}")'


def value(depth: int, name: str) -> Any:
    """What a name of a frame held as the program crashed."""
    return _values[depth][name]


def again(names: Mapping[str, Any], owner: str, name: str) -> Any:
    """Call a function of a module with what the crashed call was given; what fixtures make is made anew."""
    if not owner:
        return names[name](**_arguments(names[name], names))
    one = _instance(names[owner], name)
    function = getattr(one, name)
    return function(**_arguments(function, names))


def _arguments(function: Any, names: Mapping[str, Any]) -> dict[str, Any]:
    plain = inspect.unwrap(getattr(function, "__func__", function))
    code = plain.__code__
    asked = code.co_varnames[inspect.ismethod(function) : code.co_argcount + code.co_kwonlyargcount]
    return {one: _given(one, names) for one in asked}


def _given(name: str, names: Mapping[str, Any]) -> Any:
    """What a parameter is given: what its fixture makes, else what the crashed call was given."""
    fixture = _fixture(name, names)
    if fixture is not None:
        try:
            made = fixture(**{one: _given(one, names) for one in inspect.signature(fixture).parameters})
            return next(made) if inspect.isgenerator(made) else made
        except Exception:  # one that needs more of its framework
            pass
    return _values[0][name]


def _fixture(name: str, names: Mapping[str, Any]) -> Any:
    """The function of a fixture; None where a name is none."""
    found = names.get(name)
    if found is None:
        try:
            found = getattr(importlib.import_module("conftest"), name, None)
        except ImportError:
            return None
    held = getattr(found, "__pytest_wrapped__", None)
    return getattr(found, "_fixture_function", None) or getattr(held, "obj", None)


def _instance(owner: type, name: str) -> Any:
    """The object whose method failed: a test's is made and set up anew, any other is the one that there was."""
    try:
        one = owner(name) if hasattr(owner, "setUp") else owner()
    except TypeError:
        one = copy.copy(_values[0]["self"])
        one.__class__ = owner
        return one
    for prepare in filter(None, (getattr(one, each, None) for each in _SETUP)):
        prepare(*[None] * len(inspect.signature(prepare).parameters))
    return one
