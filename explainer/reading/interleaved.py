"""Sorts the lines of processes that wrote the same traceback into one log at once, without a prefix."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from explainer.patterns import Pattern
from explainer.reading.block import HEADER, SURE, Lines, frame_line

_ABOVE = Pattern(r"^Process \S{1,200}:$")
#: How far apart two headers of interleaved tracebacks may be, and how long such a stretch is at most.
_NEAR, _LONGEST = 10, 4000


@dataclass
class _Writer:
    """One of the processes: the indices of its lines, the places of its frames, and what it has still to print."""

    lines: list[int] = field(default_factory=list)
    places: list[tuple[str, str]] = field(default_factory=list)
    awaits: int = 0
    done: bool = False


def sorted_out(lines: Lines) -> Lines:
    """The same lines, each of the interleaved tracebacks in one piece."""
    texts = lines.texts
    headers = [at for at, text in enumerate(texts) if text.startswith("Traceback") and HEADER.search(text)]
    order: list[int] = []
    at = 0
    for first, second in itertools.pairwise(headers):
        if first < at or not _woven(texts, first, second):
            continue
        start = first - 1 if first > at and _ABOVE.match(texts[first - 1]) else first
        order += range(at, start)
        at = _sorted_stretch(texts, start, order)
    if not at:
        return lines
    order += range(at, len(texts))
    prefixes = {new: lines.prefixes[old] for new, old in enumerate(order) if old in lines.prefixes}
    return Lines([texts[old] for old in order], [lines.numbers[old] for old in order], lines.writer, prefixes)


def _woven(texts: list[str], first: int, second: int) -> bool:
    """Whether the traceback of the second header begins before that of the first one ends, with the same frame."""
    if second - first > _NEAR or any(SURE.match(text) for text in texts[first:second]):
        return False
    places = [_place(text) for text in texts[first : second + _NEAR] if frame_line(text)]
    return len(places) > 1 and places[0] in places[1:]


def _place(text: str) -> tuple[str, str]:
    match = frame_line(text)
    return (match["file"], match["line"]) if match else ("", "")


def _sorted_stretch(texts: list[str], start: int, order: list[int]) -> int:
    """Appends the indices of a stretch of interleaved tracebacks to `order`; the index after it."""
    writers: list[_Writer] = []
    above: list[int] = []
    here = start
    while here < min(len(texts), start + _LONGEST):
        text = texts[here]
        if HEADER.search(text):
            writers.append(_Writer([*above, here]))
            above = []
        elif _ABOVE.match(text):
            above = [here]
        elif all(one.done for one in writers) and writers:
            break
        elif writers:
            _give(writers, text, here)
        here += 1
    for one in writers:
        order += one.lines
    order += above
    return here


def _give(writers: list[_Writer], text: str, here: int) -> None:
    """Gives a line to the process whose traceback it continues."""
    going = [one for one in writers if not one.done]
    if frame_line(text):
        place = _place(text)
        longest = max(writers, key=lambda one: len(one.places))
        behind = (
            one for one in going if len(one.places) < len(longest.places) and longest.places[len(one.places)] == place
        )
        one = next(behind, max(going, key=lambda one: len(one.places)))
        one.places.append(place)
        one.awaits = 2
    elif SURE.match(text):
        one = max(going, key=lambda one: len(one.places))
        one.done = True
    else:
        wanted = 2 if text.strip(" ^~") else 1
        one = next((one for one in going if one.awaits == wanted), going[0])
        one.awaits = wanted - 1
    one.lines.append(here)
