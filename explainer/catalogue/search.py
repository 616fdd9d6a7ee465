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
SHORT, _REPEATS, _WIDE_REPEATS = 1000, 8, 1
_ESCAPE = Pattern(r"\\(.)", re.DOTALL)
_CLASS = Pattern(r"\\.|\[(\^?)\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
#: `[^)]*` in front of the `)` that ends it: there is one way to match it.
_ENDED = Pattern(r"\[\^\\?(.)\][*+]\??(\)?)\\?\1(?![?*{])")
_LETTERS = Pattern(r"\\w|[A-Za-z]-[A-Za-z]")
_REPEATED = Pattern(r"([.S]?)(?:[*+]|\{\d*,\d*\})")
#: Escapes that both read in the same way; what in classes `regex` reads in another way; groups that are repeated, or
#: that only `regex` has.
_SAME, _OTHERWISE = "bBdDsSwWnrt", Pattern(r"\[\[|--|&&|~~|\|\|")
#: What few places of a text begin with: a search from each of them costs as much as a repetition.
_BEGUN = Pattern(r"\^?(?:\(\?P<\w+>|\(\?:|\()*[\w ]{5}[^|]*$")
_GROUPS = Pattern(r"\)(?:[*+]|\{)|\(\?[^P:=!<]|\(\?<[^=!]")


def captured(pattern: str, text: str, foreign: bool = False) -> dict[str, Any] | None:
    """What a pattern captures in a text: digits as ints, absent groups as None. None where it does not match.

    A `foreign` pattern is not trusted to end. Raises TimeoutError where one did not.
    """
    of_re = plain(pattern) if len(text) <= SHORT and not foreign else None
    found = of_re.search(text) if of_re is not None else _by_regex(pattern, text)
    return {name: number(item) for name, item in found.groupdict().items()} if found else None


def _by_regex(pattern: str, text: str) -> Any:
    compiled = _with_timeout(pattern)
    return compiled.search(text, timeout=SECONDS) if compiled is not None else None


@functools.cache
def plain(pattern: str) -> re.Pattern[str] | None:
    """The pattern for `re`, where that finds in a short text what `regex` finds, and soon; None elsewhere."""
    escaped = _ESCAPE.findall(pattern)
    if any(one.isalnum() and one not in _SAME for one in escaped) or _OTHERWISE.search(_ESCAPE.sub("x", pattern)):
        return None
    bare = _CLASS.sub(_as_one, _ENDED.sub(r"x\2x", pattern))
    repeats = list(_REPEATED.finditer(bare))
    wide = [one for one in repeats if one[1]]
    most = _WIDE_REPEATS + (not wide or _BEGUN.match(bare, 0, wide[0].start()) is not None)
    if _GROUPS.search(bare) or len(repeats) > _REPEATS or len(wide) > most:
        return None
    try:
        return re.compile(pattern, re.DOTALL)
    except (re.error, RecursionError):
        return None


def _as_one(found: re.Match[str]) -> str:
    """An escape or a class as one letter: `S` where letters of words, or almost any characters, match it."""
    wide = found[1] or found[0] in (r"\S", r"\D", r"\W") or _LETTERS.search(found[0])
    return "S" if wide else "x"


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
