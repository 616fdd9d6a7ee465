"""Words: those of a message, lowercased, and tables of them; sets are looked up in a tenth of a search's time."""

from __future__ import annotations

import functools

from explainer.patterns import Pattern

_WORD = Pattern(r"[a-z]+\d*(?:_+[a-z\d]+)*")


def words_of(text: str) -> frozenset[str]:
    """A table of words, written as a text."""
    return frozenset(text.split())


@functools.lru_cache(maxsize=64)
def lowered(text: str) -> frozenset[str]:
    """The words of a text; names both whole and in parts."""
    whole = _WORD.findall(text.lower())
    return frozenset(whole).union(part for one in whole if "_" in one for part in one.split("_"))
