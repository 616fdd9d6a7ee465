"""A key that a dict gets on some ways only: the filler on the other ways, and what kind of filler."""

from __future__ import annotations

import ast

import pytest

from explainer.edits import EditError, applied
from explainer.edits.kinds.filling import companions, fill_key, keyed
from explainer.edits.place import Place
from explainer.source import Source

HEAD = "def item(self, i):\n    s = {'x': 1}\n"


def filled(code: str) -> str:
    """The code with the key `k` filled by 0 behind the first thing that adds it."""
    file = Source("data.py", tuple(code.split("\n")), ast.parse(code))
    node = next(keyed(ast.parse(code), "k"))
    place = Place(file, next(one for one in keyed(file.tree, "k") if one.lineno == node.lineno))
    return applied(code, fill_key(place, [("k", "0"), *((name, "1") for name in companions(place, "k"))]))


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        (
            "    if a:\n        s['k'] = v\n    return s",
            "    if a:\n        s['k'] = v\n    else:\n        s[\"k\"] = 0\n    return s",
        ),
        (
            "    if a:\n        s['k'] = v\n    elif b:\n        s['k'] = w\n    return s",
            "    if a:\n        s['k'] = v\n    elif b:\n        s['k'] = w\n    else:\n"
            "        s[\"k\"] = 0\n    return s",
        ),
        (
            "    if a:\n        s.update({'k': v})\n    else:\n        s['y'] = w\n    return s",
            "    if a:\n        s.update({'k': v})\n    else:\n        s['y'] = w\n        s[\"k\"] = 0\n    return s",
        ),
        (
            "    if a:\n        if b:\n            s['k'] = v\n    return s",
            "    if a:\n        if b:\n            s['k'] = v\n        else:\n            s[\"k\"] = 0\n"
            "    else:\n        s[\"k\"] = 0\n    return s",
        ),
        (
            "    if a:\n        return s\n    s['k'] = v\n    return s",
            "    if a:\n        s[\"k\"] = 0\n        return s\n    s['k'] = v\n    return s",
        ),
        (
            "    try:\n        s['k'] = f()\n    except KeyError:\n        pass\n    return s",
            "    try:\n        s['k'] = f()\n    except KeyError:\n        s[\"k\"] = 0\n    return s",
        ),
        ("    return {**s, **({'k': v} if a else {})}", "    return {**s, **({'k': v} if a else {\"k\": 0})}"),
        (
            "    if a:\n        return {'x': 1, 'k': v}\n    return {'x': 1}",
            "    if a:\n        return {'x': 1, 'k': v}\n    return {'x': 1, \"k\": 0}",
        ),
        (
            "    s = self.full(i)\n    if a:\n        del s['k']\n    return s",
            "    s = self.full(i)\n    if a:\n        s[\"k\"] = 0\n    return s",
        ),
        (
            "    for r in rows:\n        s = {}\n        if r:\n            s['k'] = r\n        yield s",
            "    for r in rows:\n        s = {}\n        if r:\n            s['k'] = r\n        else:\n"
            "            s[\"k\"] = 0\n        yield s",
        ),
        (
            "    if a:\n        s['y'] = w\n        s['k'] = v\n        s['z'] = v\n    else:\n"
            "        s['z'] = 2\n    return s",
            "    if a:\n        s['y'] = w\n        s['k'] = v\n        s['z'] = v\n    else:\n        s['z'] = 2\n"
            "        s[\"k\"] = 0\n        s[\"y\"] = 1\n    return s",
        ),
        (
            "    return {**s, **({'k': v, 'y': w} if a else {})}",
            "    return {**s, **({'k': v, 'y': w} if a else {\"k\": 0, \"y\": 1})}",
        ),
    ],
)  # fmt: skip
def test_a_filler_stands_on_every_way_past_the_key(code, wanted):
    assert filled(HEAD + code) == HEAD + wanted


@pytest.mark.parametrize(
    "code",
    [
        "    s['k'] = v\n    return s",
        "    if a:\n        s['k'] = v\n    else:\n        s['k'] = w\n    return s",
        "    if a:\n        s['k'] = v\n    else:\n        raise ValueError\n    return s",
        "    for r in rows:\n        if r:\n            s['k'] = r\n    return s",
        "    del s['k']\n    return s",
        "    if a:\n        s['k'] = v\n    else: s['y'] = w\n    return s",
        "    s = {'k': 0}\n    if a:\n        s['k'] = v\n    return s",
    ],
)
def test_a_key_that_is_always_there_or_cannot_be_followed_gets_none(code):
    with pytest.raises(EditError):
        filled(HEAD + code)


def test_a_filler_has_the_type_the_shape_and_the_dtype():
    torch = pytest.importorskip("torch")
    from explainer.replay.sampled import filler, fillers_in

    assert filler(torch.tensor(3.5)) == "torch.zeros(())"
    assert filler(torch.ones(3)) == "torch.zeros(3)"
    assert filler(torch.ones(2, 3, dtype=torch.int64)) == "torch.zeros((2, 3), dtype=torch.int64)"
    assert [filler(one) for one in (True, 7, 2.5, "a", [1, "b"], (1.5,))] == [
        "False", "0", "0.0", '""', '[0, ""]', "(0.0,)",
    ]  # fmt: skip
    assert filler(None) is None
    assert fillers_in([{"x": 1}, ({"k": 4, "y": None, "z": 1.5},)], ["k", "y", "z"]) == (("k", "0"), ("z", "0.0"))
