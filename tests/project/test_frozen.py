"""Frozen classes of our own behave as `dataclass(frozen=True)` makes them."""

from __future__ import annotations

import dataclasses
import pickle
from dataclasses import FrozenInstanceError, field
from typing import Any

import pytest

from explainer.frozen import OFTEN, frozen, mutable


@frozen
class Point:
    """One of ours."""

    x: int
    y: int = 2
    more: dict[str, int] = field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Standard:
    """The same, made by the standard library."""

    x: int
    y: int = 2
    more: dict[str, int] = field(default_factory=dict)


@frozen
class Named(Point):
    """A class with a parent and a text of its own."""

    name: str = ""

    def __str__(self) -> str:
        return self.name


@pytest.mark.parametrize(
    ("given", "named"), [((1,), {}), ((1, 3), {}), ((), {"x": 1, "y": 4}), ((1,), {"more": {"a": 1}})]
)
def test_fields_are_as_the_standard_dataclass_has_them(given: tuple[Any, ...], named: dict[str, Any]) -> None:
    ours, theirs = Point(*given, **named), Standard(*given, **named)
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert repr(ours) == repr(theirs).replace("Standard", "Point")


@pytest.mark.parametrize(
    ("given", "named"),
    [((), {}), ((), {"y": 1}), ((1, 2, {}, 4), {}), ((1,), {"x": 2}), ((1,), {"z": 2}), ((), {"z": 2})],
)
def test_wrong_arguments_raise_type_error(given: tuple[Any, ...], named: dict[str, Any]) -> None:
    for kind in (Point, Standard):
        with pytest.raises(TypeError):
            kind(*given, **named)


def test_nothing_can_be_assigned_or_deleted() -> None:
    with pytest.raises(FrozenInstanceError):
        Point(1).x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del Point(1).x


def test_equality_and_hash_go_by_the_fields_and_the_class() -> None:
    assert Named(1, more={}) == Named(1, 2, {})
    assert Named(1) != Named(2)
    assert Point(1) != Named(1)
    assert hash(Named(1, 2, ())) == hash(Named(1, 2, ()))  # type: ignore[arg-type]


def test_two_objects_share_no_default() -> None:
    assert Point(1).more is not Point(1).more


def test_copies_and_patterns_work() -> None:
    assert dataclasses.replace(Named(1, name="a"), x=3) == Named(3, name="a")
    assert pickle.loads(pickle.dumps(Named(1, name="a"))) == Named(1, name="a")
    match Named(1, 5):
        case Named(x, y):
            assert (x, y) == (1, 5)
    assert str(Named(1, name="a")) == "a"


def test_fields_are_described_when_asked_for_those_of_parents_included() -> None:
    @frozen
    class Later(Point):
        y: int = 7
        z: tuple[int, ...] = field(default=())

    class Plain(Later):
        """A class below that is no dataclass of its own."""

    assert [one.name for one in dataclasses.fields(Plain)] == ["x", "y", "more", "z"]
    assert dataclasses.replace(Plain(1), z=(3,)) == Plain(1, 7, {}, (3,))
    assert dataclasses.astuple(Later(1)) == (1, 7, {}, ())
    assert dataclasses.is_dataclass(Later)


def test_a_field_may_take_the_place_of_its_parents_with_another_kind_of_default() -> None:
    @frozen
    class Fixed(Point):
        more: Any = None

    assert Fixed(1) == Fixed(1, 2, None)


def test_mutable_classes_can_be_assigned_to_and_are_not_hashed() -> None:
    @mutable
    class Count:
        number: int = 0
        seen: list[int] = field(default_factory=list)

    count = Count(1)
    count.number += 1
    assert count == Count(2, []) != Count(1)
    with pytest.raises(TypeError):
        hash(count)


def test_a_class_that_is_made_often_takes_and_refuses_what_it_did_before() -> None:
    @frozen
    class Often(Point):
        values: Any = None

    made = [Often(1, y=place, more={}) for place in range(4 * OFTEN)]
    assert made[-1] == Often(1, 4 * OFTEN - 1, {}, None)
    assert Often(1).more is not Often(1).more
    for given, named in (((), {}), ((1, 2, {}, None, 5), {}), ((1,), {"x": 2}), ((1,), {"z": 2})):
        with pytest.raises(TypeError):
            Often(*given, **named)
