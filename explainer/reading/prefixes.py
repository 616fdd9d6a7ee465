"""Takes off what a log puts before each line, and parts the lines of several processes that write into one log.

A prefix is learnt from the text itself: what stands before `Traceback (most recent call last):` and before `File "..."`
on at least two lines is one, and every line that begins with the same shape has it too.
"""

from __future__ import annotations

import re
from itertools import count

from explainer.patterns import Pattern
from explainer.reading.block import Lines
from explainer.reading.rows import Row

_ANCHOR = Pattern(
    r"(?: {0,2}\+ Exception Group |[╭┌+][─-]{3,200} |(?<![\w.])(?=\w{0,80}[a-z])[A-Za-z_][\w.]{0,80} {2,80})?"
    r"(?:Original )?Traceback \(most recent call last\)"
    r"|={4,80} (?:FAILURES|ERRORS|test session starts|short test summary info) ={4,}|_{4,80} [\w.\[\]: -]{1,100} _{4,}"
    r"|File \"[^\"\n]{1,2000}\", line \d"
)
_MAY_ANCHOR = ('File "', "Traceback (", "====", "____")
_HEADER = Pattern(r"Traceback \(most recent call last\):?\s*$")
_LONGEST = 300
_MOST_SHAPES = 12
_DIGITS = Pattern(r"\d+")
#: What differs from line to line of the same process: times, and counters of lines.
_TIMES = Pattern(
    r"\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?: ?[AP]M)?|"
    r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* {1,2}\d{1,2}\b|\b[IWEFD]\d{4}\b"
    r"|\b\d{10}(?:\.\d+)?\b|\d+\.\d{3,}"
)


def parted(rows: list[Row]) -> list[Lines]:
    """The lines of each writer, prefixes taken off; the writer is what its prefixes have in common."""
    shapes = _shapes(rows)
    rows = _headers_alone(rows, shapes)
    prefixes = [_prefix(row.text, shapes) for row in rows]
    writer_of = _writers(prefixes)
    by_writer: dict[str, Lines] = {}
    for row, prefix in zip(rows, prefixes, strict=True):
        writer = writer_of[prefix]
        lines = by_writer.setdefault(writer, Lines([], [], writer))
        if prefix:
            lines.prefixes[len(lines.texts)] = prefix
        lines.texts.append(row.text[len(prefix) :])
        lines.numbers.append(row.number)
    return list(by_writer.values())


def _before(text: str) -> str | None:
    """What stands before a traceback's header or frame on a line; None where there is neither."""
    if not any(word in text for word in _MAY_ANCHOR):
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
        if not before or (grouped and "+ Exception Group" not in row.text):  # the tree's bars are no prefix
            continue
        blank, frame = not before.strip(), 'File "' in row.text[len(before) : len(before) + 9]
        shape = _shape(before)
        share = 0.0 if blank and frame else _share(rows, at, shape)
        if share > 0.7:
            counts[shape] = counts.get(shape, 0) + (1 if frame else 2)
        elif not blank and (shape in counts or share > 0):
            counts[shape] = counts.get(shape, 0) + 1
    often = sorted((shape for shape, count in counts.items() if count > 1), key=lambda shape: -counts[shape])
    return [re.compile(shape) for shape in often[:_MOST_SHAPES]]


def _share(rows: list[Row], at: int, shape: str) -> float:
    """How many of the next lines begin in the same way."""
    pattern = re.compile(shape)
    below = [row.text for row in rows[at + 1 : at + 13] if row.text.strip()]
    return sum(bool(pattern.match(text)) for text in below) / len(below) if len(below) > 2 else 0.0


def _shape(prefix: str) -> str:
    """A pattern for prefixes that differ from this one in digits only."""
    parts = re.split(r"( *\d+)", prefix)
    return "".join(r" *\d+" if at % 2 else re.escape(part) for at, part in enumerate(parts))


def _prefix(text: str, shapes: list[re.Pattern[str]]) -> str:
    for shape in shapes:
        found = shape.match(text) or shape.match(text + "  ") or shape.match(text + "\t")
        if found:
            return found[0][: len(text)]
    return ""


def _writers(prefixes: list[str]) -> dict[str, str]:
    """For each prefix what stays the same in those of one process: neither times nor counters of lines."""
    bare = {prefix: _TIMES.sub("", prefix) for prefix in set(prefixes)}
    values: dict[tuple[str, int], set[str]] = {}
    uses: dict[str, int] = {}
    for prefix in prefixes:
        shape = _shape_of(bare[prefix])
        uses[shape] = uses.get(shape, 0) + 1
        for at, digits in enumerate(_DIGITS.findall(bare[prefix])):
            values.setdefault((shape, at), set()).add(digits)
    counters = {key for key, seen in values.items() if len(seen) > 3 and len(seen) > 0.4 * uses[key[0]]}
    return {prefix: _named(text, counters) for prefix, text in bare.items()}


def _shape_of(text: str) -> str:
    return " ".join(_DIGITS.sub("0", text).split())


def _named(text: str, counters: set[tuple[str, int]]) -> str:
    """A prefix without times as the name of its writer, counters left out."""
    shape = _shape_of(text)
    at = count()
    return " ".join(_DIGITS.sub(lambda match: "" if (shape, next(at)) in counters else match[0], text).split())


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
