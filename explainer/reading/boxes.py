"""Takes off a box, or the bars of a table, that somebody drew around a traceback; rich's own boxes are a format."""

from __future__ import annotations

from itertools import groupby

from explainer.patterns import Pattern
from explainer.reading.rows import Row

_SIDED = Pattern(r"^\s{0,80}(?P<bar>[│┃║|]) ?(?P<inside>.*)(?P=bar)\s*$")
_BORDER = Pattern(r"^\s{0,80}[╭┌┏╔+├╰└┗╚|].{0,60}?[─━═-]{3}")
_ENDS = "╮┐┓╗+┤╯┘┛╝|"
_SHOWN = Pattern(r"Traceback \(most recent call last\)|File \"[^\"]{1,1000}\", line \d|[a-z](?:Error|Exception)\b")
#: Rich's own box, which holds its title.
_TITLED = Pattern(r"Traceback \(most recent call last\) [─-]")
FEWEST = 3


def unboxed(rows: list[Row]) -> list[Row]:
    """The rows with the sides of boxes taken off in which a traceback shows."""
    if not any(_is_shown(row.text) and _SIDED.match(row.text) for row in rows):
        return rows
    out: list[Row] = []
    titled = _titled(rows)
    sided = (_SIDED.match(row.text) is not None or _is_border(row.text) for row in rows)
    kinds = [is_sided and at not in titled for at, is_sided in enumerate(sided)]
    for opens, group in groupby(enumerate(rows), lambda one: kinds[one[0]]):
        part = [row for _, row in group]
        opens = opens and len(part) >= FEWEST and any(_is_shown(row.text) for row in part)
        out += map(_inside, part) if opens else part
    return out


def _titled(rows: list[Row]) -> set[int]:
    """The indices of the rows of rich's own boxes."""
    found, inside = set(), False
    for at, row in enumerate(rows):
        title = "Traceback" in row.text and _TITLED.search(row.text) is not None
        inside = inside or (title and _SIDED.match(row.text) is None)
        if inside:
            found.add(at)
            inside = not row.text.lstrip().startswith(("╰", "└"))
    return found


def _is_shown(text: str) -> bool:
    telling = 'File "' in text or "Traceback" in text or "Error" in text or "Exception" in text
    return telling and _SHOWN.search(text) is not None


def _is_border(text: str) -> bool:
    drawn = "──" in text or "--" in text or "━━" in text or "══" in text
    return drawn and text.rstrip()[-1] in _ENDS and _BORDER.match(text) is not None


def _inside(row: Row) -> Row:
    found = None if _is_border(row.text) and "──" not in row.text[4:-4].strip("─-━═ ") else _SIDED.match(row.text)
    return Row(found["inside"].rstrip(" \t"), row.number) if found else Row("", row.number)
