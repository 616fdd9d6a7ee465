"""The forms that a match of a pattern may take: which of its named groups are there and which are not."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

#: Nested alternatives multiply; beyond so many forms the rest is left out.
MOST = 64


def variants(pattern: str) -> list[dict[str, bool | None]]:
    """For each form: None for a group that is absent in it, True for one that is there.

    What may be absent (`(...)?`) is; of alternatives each is there in turn. A pattern that only `regex` understands
    has no forms.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import sre_parse
    try:
        tree = sre_parse.parse(pattern)
    except Exception:
        return []
    names = {number: name for name, number in tree.state.groupdict.items()}
    return [{names[group]: there or None for group, there in form.items() if group in names} for form in _forms(tree)]


def _forms(tree: Any) -> list[dict[int, bool]]:
    """Which groups are there (True) or not, in each form of a sequence."""
    forms: list[dict[int, bool]] = [{}]
    for operator, argument in tree:
        inner = list(_of_element(str(operator), argument))
        forms = [{**form, **other} for form in forms for other in inner][:MOST]
    return forms


def _of_element(kind: str, argument: Any) -> Iterator[dict[int, bool]]:
    if kind == "SUBPATTERN":
        own = {argument[0]: True} if argument[0] is not None else {}
        yield from ({**own, **form} for form in _forms(argument[-1]))
    elif kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        yield from _forms(argument[-1]) if argument[0] else [dict.fromkeys(_groups(argument[-1]), False)]
    elif kind == "BRANCH":
        every = dict.fromkeys((group for branch in argument[1] for group in _groups(branch)), False)
        yield from ({**every, **form} for branch in argument[1] for form in _forms(branch))
    else:
        yield {}


def _groups(tree: Any) -> Iterator[int]:
    """Every group of a tree, wherever it stands in it."""
    for operator, argument in tree:
        kind = str(operator)
        if kind == "SUBPATTERN" and argument[0] is not None:
            yield argument[0]
        if kind in ("SUBPATTERN", "MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            yield from _groups(argument[-1])
        elif kind == "BRANCH":
            for branch in argument[1]:
                yield from _groups(branch)
