"""A text as numbered rows, and the rows of a text cut out of another one (JSON, an escaped string, HTML)."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from explainer.patterns import Pattern


class Row(NamedTuple):
    """One line; `number` is the 1-based line of the input that it came from."""

    text: str
    number: int


_TAGS = Pattern(
    r"</?(?:span|pre|div|code|p|br|html|body|head|b|i|u|em|strong|font|a|details|summary|blockquote|samp|kbd|ul|ol|li|"
    r"table|tr|td|th|tbody|style|title|h\d|meta|link)\b[^<>]{0,500}>",
    re.IGNORECASE,
)
_HTML = Pattern(r"&(?:lt|quot|gt|#39|#x27|amp);|</?(?:span|pre|br|div|code)\b[^<>]{0,200}>", re.IGNORECASE)
_BREAK = Pattern(r"<br ?/?>\n?|</(?:p|div|li|tr)>", re.IGNORECASE)
_LINK = Pattern(r"\[([^\[\]\n]{0,300})\]\((?:https?|vscode[\w-]{0,40}|file|command)[:+][^()\n]{0,2000}\)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "'": "'", "\\": "\\", "/": "/"}
_ESCAPE = Pattern(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([nrt\"'\\/]))")
_HEADER = Pattern(
    r"Traceback \(most recent call last\):?[^\\\n]{0,120}(?:\\u[0-9a-f]{4}|\\x[0-9a-f]{2}){0,200}(?:\\r)?\\n"
)
_FILE = re.compile(r'File ""[^"]')
#: A cell in quotation marks, whole or its first line, with the cells before it.
_CELL = Pattern(r'^(?:[^",\n]{0,200},){1,8}"(?:"$|(?!")(?P<whole>(?:[^"\n]|""){0,4000})"$|(?!"))')
#: How many rows tell whether a text is a table.
_HEAD = 60
_FRAME = Pattern(r"\\n[ >]{0,80}File \\?[\"']")
_LITERAL = Pattern(r"\s{0,40}b?(['\"])")
#: Where an escaped text of several lines shows an error, and how many lines it has at least.
_SHOWN = Pattern(r"Traceback \(most recent call last\)|[a-z](?:Error|Exception)\b")
FEWEST = 4
_FRAMES = Pattern(r"[ \t]*File \"([^\"\n]{1,1000})\", line (\d{1,9}), in ((?:<\w{1,40}>|[A-Za-z_][\w.]{0,200}))[ \t]*")
_SAID = Pattern(
    r"((?<=\s)|(?<=[)\]~^'\"]))(?=(?:[a-z_]\w{0,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception|Interrupt|Warning|Exit): )"
)


def rows_of(text: str) -> list[Row]:
    """The rows of a text, HTML and links taken off; a carriage return begins a row but is no line of the input."""
    if _HTML.search(text) and ("Traceback" in text or "Error" in text):
        text = html.unescape(_TAGS.sub("", _BREAK.sub("\n", text)))
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    lines = text.split("\n") if "\n" in text else text.split("\r")
    rows = []
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\r")
        rows += [Row(piece, number) for piece in line.split("\r")] if "\r" in line else [Row(line, number)]
    return rows


def cells(rows: list[Row]) -> list[Row]:
    """Rows of a table of comma-separated values as their last cells say it, where quotation marks are doubled."""
    whole = sum(row.text[-1:] == '"' and _CELL.match(row.text) is not None for row in rows[:_HEAD])
    begun = any(_FILE.search(row.text) or ("Traceback" in row.text and _CELL.match(row.text)) for row in rows)
    if not begun and 2 * whole <= min(len(rows), _HEAD):
        return rows
    return [Row(_CELL.sub(_cell, row.text).replace('""', '"'), row.number) for row in rows]


def _cell(match: re.Match[str]) -> str:
    return match["whole"] or ""


def opened(rows: Iterable[Row]) -> list[Row]:
    """Rows that hold a whole traceback, escaped or with its line ends lost, opened into their lines."""
    out: list[Row] = []
    for row in rows:
        escaped = _escaped_at(row.text) if "\\n" in row.text else None
        if escaped is not None:
            out += _unescaped(row, escaped)
        elif row.text.count('File "') > 1 or ("Traceback (most" in row.text and 'File "' in row.text):
            out += _split(row)
        else:
            out.append(row)
    return out


def _escaped_at(text: str) -> int | None:
    """Where in a line an escaped traceback begins to show; None where there is none."""
    header = _HEADER.search(text)
    if header:
        return header.start()
    frames = list(islice(_FRAME.finditer(text), 2))
    if len(frames) > 1:
        return frames[0].start()
    if text.count("\\n") < FEWEST or not _SHOWN.search(text):
        return None
    first = text.index("\\n")
    literal = text[: max(_opening(text, first) - 1, 0)].endswith(("(", "f", "r"))  # in a line of source
    return None if literal else first


def _unescaped(row: Row, shown: int) -> list[Row]:
    """The lines of the quotation, or of the rest of the line, in which an escaped traceback shows at `shown`."""
    start = _opening(row.text, shown)
    text = row.text[start:]
    if start:
        text = text[: _closing(text, row.text[start - 1])]
    text = _ESCAPE.sub(_char, text)
    if row.text[max(0, start - 2) : start - 1] == "b":
        text = _as_bytes(text)
    head = [Row(row.text[:start], row.number)] if row.text[:start].strip() else []
    return head + [Row(line, row.number) for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]


def _opening(text: str, shown: int) -> int:
    """The index after the quotation mark that is still open at `shown`; 0 where there is none."""
    whole = _LITERAL.match(text)
    if whole and text.rstrip().endswith(whole[1]):
        return whole.end()
    at = max(text.rfind('"', 0, shown), text.rfind("'", 0, shown))
    while at > 0 and text[at - 1] == "\\":
        at = max(text.rfind('"', 0, at), text.rfind("'", 0, at))
    return at + 1


def _as_bytes(text: str) -> str:
    """The text of a bytes literal whose escapes were taken for letters."""
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text


def _closing(text: str, quote: str) -> int:
    """The index of the first quotation mark that no backslash escapes; the text's length where there is none."""
    escaped = False
    for at, letter in enumerate(text):
        if letter == quote and not escaped:
            return at
        escaped = letter == "\\" and not escaped
    return len(text)


def _char(match: re.Match[str]) -> str:
    digits = match[1] or match[2]
    return chr(int(digits, 16)) if digits else _ESCAPES[match[3]]


def _split(row: Row) -> list[Row]:
    """A traceback on one line, its line ends turned to blanks or to nothing."""
    text = _FRAMES.sub(r'\n  File "\1", line \2, in \3\n    ', row.text)
    if text.count("\n") < 2:
        return [row]
    head, _, tail = text.rpartition("\n")
    said = [match.start() for match in _SAID.finditer(tail)]
    if said:
        tail = tail[: said[0]].rstrip() + "\n" + tail[said[0] :]
    lines = f"{head}\n{tail}".split("\n")
    return [Row(line.rstrip(), row.number) for line in lines if line.strip()]
