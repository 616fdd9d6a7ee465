"""Which rank, process and time a log names for an error: from the prefix of its lines and the words above it."""

from __future__ import annotations

import re

from explainer.crash import Place
from explainer.patterns import Pattern
from explainer.reading.block import Lines
from explainer.reading.elastic import Reported

_RANKS = (
    Pattern(r"\[rank ?(\d+)\]|\brank[ =:]{1,2}(\d+)\b|\[(?:default)?(\d+)\]:|\[\d+,(\d+)\]<std", re.IGNORECASE),
    Pattern(r"^\s{0,6}(\d{1,5}): ?$"),
)
_PROCESS = Pattern(r"\(([^()\s]+ )?pid=\d+[^()]*\)|\[?pod/[^\]\s]+|^[\w.-]+(?=: $)|^[\w.-]+(?=\s*\| ?$)|(?<=\[)gw\d+")
_ABOVE = Pattern(r"^\s*(?:Exception in thread (?P<thread>.{1,200}?)|Process (?P<process>\S{1,200})):\s*$")
_TIME = Pattern(
    r"\d{4}[-/]\d\d[-/]\d\d[T _]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b"
)


def place(lines: Lines, at: int, name: str | None, said: Reported | None = None) -> Place:
    """Where the error that begins on line `at` was found; `said` is what a launcher's report says of its rank."""
    prefix = lines.prefixes.get(at, "")
    time = _TIME.search(prefix) or _TIME.search(lines.texts[at - 1][:200] if at else "")
    rank = said.rank if said else _rank(prefix)
    return Place(
        name, lines.number(at), rank, _process(lines, at, prefix), said.time if said else time[0] if time else None
    )


def _rank(prefix: str) -> int | None:
    for pattern in _RANKS:
        found = pattern.search(prefix)
        if found:
            return next(int(group) for group in found.groups() if group is not None)
    return None


def _process(lines: Lines, at: int, prefix: str) -> str | None:
    """The thread or process that the line above names, else the one of the prefix."""
    for back in range(at - 1, max(-1, at - 3), -1):
        above = _ABOVE.match(lines.texts[back])
        if above:
            return above["thread"] or above["process"]
    found = _PROCESS.search(prefix)
    return found[0].strip("()[] ") if found else None
