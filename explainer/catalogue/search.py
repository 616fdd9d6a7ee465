"""Searches a message for a pattern: with `re` where that surely ends soon, else with `regex` and a timeout."""

from __future__ import annotations

import functools
import re
from typing import Any

from explainer.patterns import Pattern

#: No pattern may take longer than this many seconds.
SECONDS = 0.1
#: Importing `regex` takes as long as everything else that happens before the message is matched. In texts of so many
#: characters `re` does what `regex` does, for patterns whose repetitions neither nest nor multiply.
SHORT, _REPEATS, _WIDE_REPEATS = 400, 5, 2
_CLASS = Pattern(r"\\.|\[(\^?)\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_REPEATED = Pattern(r"([.S]?)(?:[*+]|\{\d*,\d*\})")
#: Escapes and classes that `regex` reads in another way; groups that are repeated, or that only `regex` has.
_OTHERWISE = Pattern(r"\\[^\WbBdDsSwWnrt]|\[\[|--|&&|~~|\|\|")
_GROUPS = Pattern(r"\)(?:[*+]|\{)|\(\?[^P:=!<]|\(\?<[^=!]")


def captured(pattern: str, text: str) -> dict[str, Any] | None:
    """What a pattern captures in a text: digits as ints, absent groups as None. None where it does not match."""
    found = _in_short(pattern, text) if len(text) <= SHORT and plain(pattern) is not None else _in_long(pattern, text)
    return {name: number(item) for name, item in found.groupdict().items()} if found else None


def _in_short(pattern: str, text: str) -> Any:
    compiled: Any = plain(pattern)
    return compiled.search(text)


def _in_long(pattern: str, text: str) -> Any:
    compiled = _with_timeout(pattern)
    try:
        return compiled.search(text, timeout=SECONDS) if compiled is not None else None
    except TimeoutError:
        return None


@functools.cache
def plain(pattern: str) -> re.Pattern[str] | None:
    """The pattern for `re`, where that finds in a short text what `regex` finds, and soon; None elsewhere."""
    bare = _CLASS.sub(lambda found: "S" if found[1] or found[0] in (r"\S", r"\D", r"\W") else "x", pattern)
    repeats = _REPEATED.findall(bare)
    if _OTHERWISE.search(pattern) or _GROUPS.search(bare):
        return None
    if len(repeats) > _REPEATS or sum(map(bool, repeats)) > _WIDE_REPEATS:
        return None
    try:
        return re.compile(pattern, re.DOTALL)
    except (re.error, RecursionError):
        return None


@functools.cache
def _with_timeout(pattern: str) -> Any:
    import regex

    try:
        return regex.compile(pattern, regex.DOTALL)
    except (regex.error, RecursionError):
        return None


def number(text: str | None) -> Any:
    """An int where the text is one as Python would write it, else the text."""
    if text is None or len(text) > 30 or not text.lstrip("-").isdecimal():
        return text
    return int(text) if str(int(text)) == text else text
