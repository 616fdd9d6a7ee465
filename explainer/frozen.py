"""Dataclasses that cost nothing to define, frozen and not: the standard ones compile five methods, 0.5 ms a class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Callable[[Any], Any]:
        """What only type checkers look at; `typing` has it from Python 3.11 on."""
        return lambda decorator: decorator


T = TypeVar("T")
_FIELDS = "__dataclass_fields__"
#: A class of which so many were made gets an `__init__` of its own: 0.1 ms to compile, half the time a call.
OFTEN = 24
_made: dict[type, int] = {}


@dataclass_transform(frozen_default=True)
def frozen(owner: type[T]) -> type[T]:
    """What `dataclass(frozen=True)` makes of a class, with methods that all such classes share.

    `fields`, `replace`, `asdict` and pattern matching work as usual; what the class itself defines stays. Every name
    that is annotated is a field; of a `field(...)` the default counts.
    """
    _describe(owner)
    return _with(owner, __init__, __repr__, __eq__, __hash__, __setattr__, __delattr__)


@dataclass_transform()
def mutable(owner: type[T]) -> type[T]:
    """What `dataclass` makes of a class, in the way of `frozen`."""
    _describe(owner)
    setattr(owner, "__hash__", None)  # noqa: B010 - as the standard library does where objects are equal by value
    return _with(owner, __init__, __repr__, __eq__)


def replace(one: T, **changes: Any) -> T:
    """The same object with other values in some of its fields, a fifth of the standard library's time.

    Raises TypeError where it has no such field.
    """
    kind: Any = type(one)
    if not changes.keys() <= kind._known_:
        raise TypeError(f"{kind.__name__} has no {sorted(changes.keys() - kind._known_)}")
    new = object.__new__(kind)
    new.__dict__.update(one.__dict__)
    new.__dict__.update(changes)
    return new  # type: ignore[no-any-return]


def _with(owner: type[T], *methods: Callable[..., Any]) -> type[T]:
    """A class with those of the shared methods that it does not define itself."""
    for method in methods:
        if method.__name__ not in vars(owner):
            setattr(owner, method.__name__, method)
    return owner


def _describe(kind: Any) -> None:
    """Note the names of a class's fields and what they begin with, those of its parents first."""
    parents = [vars(base) for base in reversed(kind.__mro__[1:]) if "_names_" in vars(base)]
    given = {name: vars(kind).get(name, MISSING) for name in kind.__annotations__}
    made = {name: one.default_factory if isinstance(one, Field) else MISSING for name, one in given.items()}
    plain = {name: one.default if isinstance(one, Field) else one for name, one in given.items()}
    kind._names_ = tuple(dict.fromkeys([*(name for base in parents for name in base["_names_"]), *given]))
    kind._known_ = frozenset(kind._names_)
    aside = {name for name, one in given.items() if isinstance(one, Field) and not one.compare}
    kind._aside_ = frozenset(aside).union(*(base["_aside_"] for base in parents))
    kind._defaults_ = _joined([base["_defaults_"] for base in parents], plain)
    kind._makers_ = _joined([base["_makers_"] for base in parents], made)
    setattr(kind, "__match_args__", kind._names_)  # noqa: B010 - mypy takes an assignment for the class's own
    setattr(kind, _FIELDS, _Fields(kind))


def _joined(inherited: list[dict[str, Any]], own: dict[str, Any]) -> dict[str, Any]:
    """What fields begin with, those of the parents first; a field without it takes away its parent's."""
    together = {name: value for values in (*inherited, own) for name, value in values.items()}
    return {name: value for name, value in together.items() if value is not MISSING}


class _Fields:
    """The standard library's description of a class's fields, made when it is first asked for: most never are."""

    def __init__(self, owner: Any):
        self._owner = owner

    def __get__(self, one: Any, kind: Any) -> Any:
        if vars(self._owner).get(_FIELDS) is self:
            dataclass(init=False, repr=False, eq=False)(self._owner)
        return vars(self._owner)[_FIELDS]


def __init__(self: Any, *given: Any, **named: Any) -> None:
    kind, values = type(self), self.__dict__
    names, count = kind._names_, len(given)
    if count + len(named) < len(names):
        values.update(kind._defaults_)
    values.update(zip(names, given))  # noqa: B905 - too many of them are told below
    fits = True  # a text is read into a dozen of these: what was given by place alone fits if nothing is missing
    if named:
        fits = kind._known_.issuperset(named) and (not count or named.keys().isdisjoint(names[:count]))
        values.update(named)
    if kind._makers_:
        for name, make in kind._makers_.items():
            if name not in values:
                values[name] = make()
    if not (fits and len(values) == len(names) >= count):
        _refuse(kind, values, given, named)
    _made[kind] = made = _made.get(kind, 0) + 1
    if made == OFTEN and vars(kind).get("__init__") is __init__:
        kind.__init__ = _compiled(kind)


def _compiled(kind: Any) -> Callable[..., None]:
    """What `__init__` does for one class, written out where Python has a form for it."""
    begun = kind._defaults_ | dict.fromkeys(kind._makers_, MISSING)
    if sorted(kind._names_, key=begun.__contains__) != list(kind._names_):
        return __init__  # one without a default stands behind one with a default
    taken = ", ".join(f"{name}=begun_['{name}']" if name in begun else name for name in kind._names_)
    kept = [f"values_['{name}'] = {name}" for name in kind._names_]
    made = [f"if {name} is missing_: values_['{name}'] = makers_['{name}']()" for name in kind._makers_]
    space: dict[str, Any] = {"begun_": begun, "makers_": kind._makers_, "missing_": MISSING}
    exec("\n    ".join([f"def __init__(self, {taken}):", "values_ = self.__dict__", *kept, *made]), space)
    return space["__init__"]  # type: ignore[no-any-return]


def _refuse(kind: Any, values: dict[str, Any], given: tuple[Any, ...], named: dict[str, Any]) -> None:
    missing = [name for name in kind._names_ if name not in values]
    twice = named.keys() & set(kind._names_[: len(given)])
    wrong = [*named.keys() - set(kind._names_), *twice, *map(type, given[len(kind._names_) :])]
    raise TypeError(f"{kind.__name__}() misses {missing}, was given {wrong} too many")


def _values(one: Any) -> tuple[Any, ...]:
    return tuple(getattr(one, name) for name in type(one)._names_ if name not in type(one)._aside_)


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
