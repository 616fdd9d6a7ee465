"""Frozen dataclasses that cost nothing to define: the standard ones compile five methods a class, 0.5 ms each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Callable[[Any], Any]:
        """What only type checkers look at; `typing` has it from Python 3.11 on."""
        return lambda decorator: decorator


T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def frozen(owner: type[T]) -> type[T]:
    """What `dataclass(frozen=True)` makes of a class, with methods that all such classes share.

    `fields`, `replace`, `asdict` and pattern matching work as usual; what the class itself defines stays.
    """
    made = dataclass(init=False, repr=False, eq=False)(owner)
    known = fields(made)  # type: ignore[arg-type]
    made._names_ = tuple(one.name for one in known)  # type: ignore[attr-defined]
    made._known_ = frozenset(made._names_)  # type: ignore[attr-defined]
    made._defaults_ = {one.name: one.default for one in known if one.default is not MISSING}  # type: ignore
    made._makers_ = {one.name: one.default_factory for one in known if one.default_factory is not MISSING}  # type: ignore
    for method in (__init__, __repr__, __eq__, __hash__, __setattr__, __delattr__):
        if method.__name__ not in vars(owner):
            setattr(made, method.__name__, method)
    return made


def __init__(self: Any, *given: Any, **named: Any) -> None:
    kind, values = type(self), self.__dict__
    values.update(kind._defaults_)
    values.update(zip(kind._names_, given))  # noqa: B905 - too many of them are told below
    values.update(named)
    for name, make in kind._makers_.items():
        if name not in values:
            values[name] = make()
    # Texts are read into a dozen of these: what was given by place alone fits if nothing is missing.
    fits = len(values) == len(kind._names_) >= len(given)
    if not fits or (
        named and not (named.keys() <= kind._known_ and named.keys().isdisjoint(kind._names_[: len(given)]))
    ):
        _refuse(kind, values, given, named)


def _refuse(kind: Any, values: dict[str, Any], given: tuple[Any, ...], named: dict[str, Any]) -> None:
    missing = [name for name in kind._names_ if name not in values]
    twice = named.keys() & set(kind._names_[: len(given)])
    wrong = [*named.keys() - set(kind._names_), *twice, *map(type, given[len(kind._names_) :])]
    raise TypeError(f"{kind.__name__}() misses {missing}, was given {wrong} too many")


def _values(one: Any) -> tuple[Any, ...]:
    return tuple(getattr(one, name) for name in type(one)._names_)


def __repr__(self: Any) -> str:
    inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in type(self)._names_)
    return f"{type(self).__qualname__}({inside})"


def __eq__(self: Any, other: Any) -> Any:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def __hash__(self: Any) -> int:
    return hash(_values(self))


def __setattr__(self: Any, name: str, value: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def __delattr__(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")
