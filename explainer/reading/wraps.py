"""Joins lines again that a terminal or a mail program broke."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

from explainer.patterns import Pattern
from explainer.reading.block import SURE, Lines, frame_line
from explainer.reading.rows import Row

_BEGUN = Pattern(r"^\s*File(?: \".*|\s*)$")
_WHOLE = Pattern(r'^\s*File ".{1,2000}", line \d+(?:, in ?.*)?$')
#: The beginning of a frame's line, up to a blank at which a mail program may break it.
_UNFINISHED = Pattern(r'^\s*File$|^\s*File "[^"]{1,1000}(?:",(?: line(?: \d+,(?: in)?)?)?)?$')
_CARETS = Pattern(r"^\s+[~^ ]*\^$")
_MORE_CARETS = Pattern(r"^[~^]+$")
_NARROWEST, _WIDEST = 40, 400


def rejoined(lines: Lines) -> Lines:
    """The same lines with those joined that were broken at the width of a terminal, or between words."""
    width = _cut_width(lines.texts)
    if width:
        lines = _joined(lines, lambda above, below: len(above) == width and not frame_line(below), "")
    return _words(lines)


def unpadded(rows: list[Row]) -> list[Row]:
    """Rows that a terminal padded with blanks to its width, those joined that it cut there."""
    widths = Counter(len(row.text) for row in rows if row.text.strip())
    width, often = widths.most_common(1)[0] if widths else (0, 0)
    full = [row for row in rows if _is_full(row.text, width)]
    if not _NARROWEST <= width <= _WIDEST or often < 4 or often < 0.6 * widths.total() or len(full) > 0.7 * often:
        return rows
    out: list[Row] = []
    cut = False
    for row in rows:
        if cut and not (row.text.startswith(" ") and frame_line(out[-1].text)):
            out[-1] = Row(out[-1].text + row.text, out[-1].number)
        else:
            out.append(row)
        cut = _is_full(row.text, width)
    return out


def _is_full(text: str, width: int) -> bool:
    """Whether a padded line reaches the terminal's edge (a tab may have been counted as one column)."""
    return len(text) >= width and not text.endswith(" ")


def _cut_width(texts: list[str]) -> int | None:
    """The width at which a terminal cut the lines: that of a line which is whole only with the next one."""
    for above, below in pairwise(texts):
        if not _NARROWEST <= len(above) <= _WIDEST:
            continue
        if _CARETS.match(above) and _MORE_CARETS.match(below):
            return len(above)
        if 'File "' in above and _BEGUN.match(above) and _is_cut(above, below):
            return len(above)
    return None


def _is_cut(above: str, below: str) -> bool:
    """Whether a frame's line goes on, in the middle of a word, on the next line."""
    if not _WHOLE.match(above):
        return bool(_WHOLE.match(above + below)) and not below.startswith(" ")
    return bool(re.search(r"(?:line \d*|in \w*)$", above) and re.match(r"\d+, in |\w+$", below))


def _joined(lines: Lines, when: Callable[[str, str], bool], glue: str, whole: bool = False) -> Lines:
    """The lines, each joined to the one above where `when(above, line)`; with `whole`, above as joined so far."""
    out = Lines([], [], lines.writer)
    above = None
    for at, text in enumerate(lines.texts):
        if above is not None and when(out.texts[-1] if whole else above, text):
            out.texts[-1] += glue + text.lstrip() if whole else glue + text
        else:
            if at in lines.prefixes:
                out.prefixes[len(out.texts)] = lines.prefixes[at]
            out.texts.append(text)
            out.numbers.append(lines.numbers[at])
        above = text
    return out


def _words(lines: Lines) -> Lines:
    """Frame lines that were broken between words."""

    def broken(above: str, below: str) -> bool:
        if not _UNFINISHED.match(above) or not below.strip():
            return False
        return bool(_WHOLE.match(f"{above} {below.lstrip()}") or _UNFINISHED.match(f"{above} {below.lstrip()}"))

    if not any(_UNFINISHED.match(text) for text in lines.texts):
        return lines
    width = max(len(text) for text in lines.texts if len(text) < _WIDEST)
    return _messages(_joined(lines, broken, " ", whole=True), width)


def _messages(lines: Lines, width: int) -> Lines:
    """Exceptions' own lines with what a mail program that breaks at `width` put on the next lines."""
    out = Lines([], [], lines.writer)
    above = ""  # the printed line above, where it belongs to an exception's message
    for at, text in enumerate(lines.texts):
        word = text.split(maxsplit=1)[0] if text.strip() else ""
        if above and word and not text[:1].isspace() and len(above) + 1 + len(word) > width:
            out.texts[-1] += " " + text
            above = text
            continue
        if at in lines.prefixes:
            out.prefixes[len(out.texts)] = lines.prefixes[at]
        out.texts.append(text)
        out.numbers.append(lines.numbers[at])
        above = text if SURE.match(text) else ""
    return out
