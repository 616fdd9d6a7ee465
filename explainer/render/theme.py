"""Roles of text and their colours: the 16 ANSI names only, so that the terminal's own palette decides."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TextIO

#: A piece of text and its role; a row is one line of them.
Piece = tuple[str, str]
Row = tuple[Piece, ...]

STYLES = {
    "": "",
    "error": "bold red",
    "headline": "bold",
    "message": "",
    "place": "",
    "gutter": "bright_blue",
    "source": "",
    "primary": "bold red",
    "secondary": "bright_blue",
    "operand": "cyan",
    "value": "",
    "word": "bold",
    "prose": "",
    "checked": "bold green",
    "suggestion": "bold yellow",
    "sketch": "bold magenta",
    "minus": "red",
    "plus": "green",
    "quiet": "bright_black",
}


_CODES = (
    {"bold": 1}
    | {name: 30 + number for number, name in enumerate(("black", "red", "green", "yellow", "blue", "magenta", "cyan"))}
    | {"bright_black": 90, "bright_blue": 94}
)


def wants_color(stream: TextIO, choice: str = "auto", environ: Mapping[str, str] | None = None) -> bool:
    """Whether to colour what goes to `stream`: `always`, `never`, or as the terminal and NO_COLOR, TERM say."""
    environ = os.environ if environ is None else environ
    if choice != "auto":
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return environ.get("TERM") != "dumb" and is_terminal(stream)


def is_terminal(stream: TextIO) -> bool:
    """Whether a person sees the stream; False for one that is closed or cannot say."""
    try:
        return stream.isatty()
    except (AttributeError, ValueError, OSError):
        return False


def width_of(stream: TextIO, default: int = 80) -> int:
    """The stream's width in cells, between 40 and 120; `default` where it is no terminal."""
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (AttributeError, ValueError, OSError):
        return default
    return min(max(columns, 40), 120) if columns else default


def stripped(row: Row) -> Row:
    """The row without blanks at its end."""
    while row and not row[-1][0].rstrip():
        row = row[:-1]
    return (*row[:-1], (row[-1][0].rstrip(), row[-1][1])) if row else ()


def ansi(row: Row) -> str:
    """A row with the codes of its roles: rich's console says the same, but takes 70 ms to import."""
    return "".join(_coloured(text, STYLES[role]) for text, role in stripped(row))


def _coloured(text: str, style: str) -> str:
    """A piece between the codes of its style."""
    codes = ";".join(str(_CODES[name]) for name in style.split())
    return f"\x1b[{codes}m{text}\x1b[0m" if codes and text else text


def plain(row: Row) -> str:
    """A row's text alone."""
    return "".join(text for text, _ in stripped(row))
