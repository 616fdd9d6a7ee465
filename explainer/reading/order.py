"""Puts the errors of a text in the order in which a person should read them, the same error only once."""

from __future__ import annotations

from dataclasses import replace

from explainer.crash import Found, Raised


def arrange(found: list[Found]) -> list[Found]:
    """The errors without repeats, the one to look at first in front."""
    return _ranked(_merged(found))


def _key(raised: Raised) -> tuple[object, ...]:
    places = tuple((one.file.replace("\\", "/").rsplit("/", 1)[-1], one.line) for one in raised.frames)
    return (raised.name, " ".join(raised.message.split()), places)


def _merged(found: list[Found]) -> list[Found]:
    """Each error once with its count; one of an unknown rank is the same as that of a known one."""
    kept: dict[tuple[object, ...], Found] = {}
    for one in found:
        same = next((key for key in _keys(one) if key in kept), None)
        if same is None:
            kept[_keys(one)[0]] = one
        else:
            kept[same] = replace(kept[same], count=kept[same].count + 1)
    return list(kept.values())


def _keys(one: Found) -> list[tuple[object, ...]]:
    key = _key(one.raised)
    return [(one.place.rank, *key)] if one.place.rank is None else [(one.place.rank, *key), (None, *key)]


def _ranked(found: list[Found]) -> list[Found]:
    return sorted(found, key=_weight)


def _weight(one: Found) -> int:
    if one.raised.name == "ChildFailedError":
        return 2
    return 0
