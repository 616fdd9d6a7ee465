"""Words: those of a message, lowercased, and tables of them; sets are looked up in a tenth of a search's time."""

from __future__ import annotations

import functools

from explainer.patterns import Pattern

_WORD = Pattern(r"[a-z]+\d*(?:_+[a-z\d]+)*")
#: Names such as `DistributedSampler`, of whose parts each is a word.
_HUMPED = Pattern(r"[A-Z][a-z]+(?:[A-Z][a-z]+)+")
_HUMP = Pattern(r"[A-Z][a-z]+")


def words_of(text: str) -> frozenset[str]:
    """A table of words, written as a text."""
    return frozenset(text.split())


@functools.lru_cache(maxsize=64)
def lowered(text: str) -> frozenset[str]:
    """The words of a text; names both whole and in parts."""
    whole = _WORD.findall(text.lower())
    parts = [part for one in whole if "_" in one for part in one.split("_")]
    humps = [part.lower() for one in _HUMPED.findall(text) for part in _HUMP.findall(one)]
    return frozenset(whole).union(parts, humps)
