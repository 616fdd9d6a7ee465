"""Takes off what a log puts before each line, and parts the lines of several processes that write into one log.

A prefix is learnt from the text itself: what stands before `Traceback (most recent call last):` and before `File "..."`
on at least two lines is one, and every line that begins with the same shape has it too.
"""

from __future__ import annotations

import re

from explainer.reading.block import Lines
from explainer.reading.rows import Row

_ANCHOR = re.compile(
    r"(?: {0,2}\+ Exception Group |(?<![\w.])[A-Za-z_][\w.]{0,80} {2,80})?(?:Original )?Traceback \(most recent call last\)|File \"[^\"\n]{1,2000}\", line \d"
)
_HEADER = re.compile(r"Traceback \(most recent call last\):?\s*$")
_LONGEST = 300
_MOST_SHAPES = 12
#: What differs from line to line of the same process: times, and counters of lines.
_TIMES = re.compile(
    r"\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?|\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?: ?[AP]M)?|"
    r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* {1,2}\d{1,2}\b|\b[IWEFD]\d{4}\b|\b\d{10}(?:\.\d+)?\b|\d+\.\d{3,}"
)
_NUMBERED = re.compile(r"^\s*\d+(?:\t|[:.|)] ?| {1,4}| *│ ?)$")


def parted(rows: list[Row]) -> list[Lines]:
    """The lines of each writer, prefixes taken off; the writer is what its prefixes have in common."""
    shapes = _shapes(rows)
    rows = _headers_alone(rows, shapes)
    by_writer: dict[str, Lines] = {}
    for row in rows:
        prefix = _prefix(row.text, shapes)
        writer = _writer(prefix)
        lines = by_writer.setdefault(writer, Lines([], [], writer))
        if prefix:
            lines.prefixes[len(lines.texts)] = prefix
        lines.texts.append(row.text[len(prefix) :])
        lines.numbers.append(row.number)
    return list(by_writer.values())


def _before(text: str) -> str | None:
    """What stands before a traceback's header or frame on a line; None where there is neither."""
    if 'File "' not in text and "Traceback (" not in text:
        return None
    found = _ANCHOR.search(text, 0, _LONGEST * 4)
    if found is None or found.start() > _LONGEST:
        return None
    before = text[: found.start()]
    return before[:-2] if found[0].startswith("File") and before.endswith("  ") else before


def _shapes(rows: list[Row]) -> list[re.Pattern[str]]:
    """The shapes of prefixes, the most frequent first."""
    counts: dict[str, int] = {}
    grouped = any("+ Exception Group" in row.text for row in rows)
    for at, row in enumerate(rows):
        before = _before(row.text)
        if grouped and before and "|" in before[-40:]:
            continue  # the bars of an exception group's tree
        if before and before.strip():
            shape = _shape(before)
            if shape in counts or _goes_on(rows, at, shape):
                counts[shape] = counts.get(shape, 0) + 1
    often = sorted((shape for shape, count in counts.items() if count > 1), key=lambda shape: -counts[shape])
    return [re.compile(shape) for shape in often[:_MOST_SHAPES]]


def _goes_on(rows: list[Row], at: int, shape: str) -> bool:
    """Whether one of the next few lines begins in the same way."""
    pattern = re.compile(shape)
    return any(pattern.match(row.text) for row in rows[at + 1 : at + 9])


def _shape(prefix: str) -> str:
    """A pattern for prefixes that differ from this one in digits only."""
    return re.sub(r"\d+", r"\\d+", re.escape(prefix))


def _prefix(text: str, shapes: list[re.Pattern[str]]) -> str:
    for shape in shapes:
        found = shape.match(text) or shape.match(text + "  ")
        if found:
            return found[0][: len(text)]
    return ""


def _writer(prefix: str) -> str:
    """The part of a prefix that stays the same for one process."""
    if not prefix or _NUMBERED.match(prefix) and "\t" in prefix:
        return ""
    return " ".join(_TIMES.sub("", prefix).split())


def _headers_alone(rows: list[Row], shapes: list[re.Pattern[str]]) -> list[Row]:
    """Rows in which only the traceback's header has something before it: that becomes a row of its own."""
    out = []
    for row in rows:
        before = _before(row.text) if "Traceback (" in row.text and _HEADER.search(row.text) else None
        if before and before.strip(" |") and not _prefix(row.text, shapes):
            out += [Row(before.rstrip(), row.number), Row(row.text[len(before) :], row.number)]
        else:
            out.append(row)
    return out
