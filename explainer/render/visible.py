"""Text from users and errors made safe to show: control characters visible, tabs expanded, widths counted in cells."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from rich.cells import cell_len as cells

# The functions here remember their last results: a diagnosis is laid out several times until it fits.
__all__ = ["LONGEST", "cells", "cut", "cut_front", "expand", "one_line", "padded", "visible", "window"]

#: Categories that a terminal or a browser acts on instead of showing: controls, invisible formatting (bidirectional
#: overrides too), surrogates, line and paragraph separators.
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
#: Makes the character before it wider, so that widths would not add up.
_WIDENER = "\ufe0f"
#: Longest text that is looked at; no screen holds more, and any paste is answered in bounded time.
LONGEST = 20_000
TAB = 4


@lru_cache(256)
def visible(text: str, keep: str = "") -> str:
    r"""The text with every control or invisible character spelled out (`\x1b`), except those in `keep`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if character in keep else _spelled(character) for character in text)


def _spelled(character: str) -> str:
    if unicodedata.category(character) not in _HIDDEN and character != _WIDENER:
        return character
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


@lru_cache(256)
def one_line(text: str) -> str:
    """The text on one line: every run of blank space is one space, the rest visible."""
    return visible(" ".join(text[:LONGEST].split()))


@lru_cache(256)
def cut(text: str, width: int, tail: str = "...") -> str:
    """The text cut to `width` cells, ending in `tail` where something was lost."""
    if cells(text) <= width:
        return text
    return _head(text, max(width - cells(tail), 0)) + tail[:width]


def cut_front(text: str, width: int) -> str:
    """The text cut to `width` cells at its start: of a path the end says most."""
    if cells(text) <= width:
        return text
    return "..." + _head(text[::-1], max(width - 3, 0))[::-1]


def _head(text: str, width: int) -> str:
    """As many leading characters as fit into `width` cells."""
    used = 0
    for index, character in enumerate(text):
        used += cells(character)
        if used > width:
            return text[:index]
    return text


def padded(text: str, width: int) -> str:
    """The text followed by spaces up to `width` cells."""
    return text + " " * (width - cells(text))


@lru_cache(128)
def expand(line: str) -> tuple[str, list[int]]:
    """A source line as it is shown, and the cell at which each of its characters starts (one more for the end)."""
    shown: list[str] = []
    starts: list[int] = []
    cell = 0
    for character in line:
        starts.append(cell)
        piece = " " * (TAB - cell % TAB) if character == "\t" else visible(character)
        shown.append(piece)
        cell += cells(piece)
    return "".join(shown), [*starts, cell]


@lru_cache(256)
def window(shown: str, first: int, last: int, width: int) -> tuple[str, int]:
    """A part of a line of at most `width` cells that holds the cells `first`..`last`, and by how much it moved left.

    Of a stretch that is too wide itself at least a third of `width` is in sight.
    """
    if cells(shown) <= width:
        return shown, 0
    if min(last, first + width // 3) + 3 <= width or first <= 3:
        return cut(shown, width), 0
    start = max(first - max((width - (last - first)) // 2, 8), 0)
    before, skipped = "", 0
    for character in shown:
        if skipped >= start + 3:
            break
        before += character
        skipped += cells(character)
    return cut("..." + shown[len(before) :], width), skipped - 3
