"""Source lines with a gutter, underlines and their texts, as rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from explainer.diagnosis import Report
from explainer.frozen import frozen
from explainer.locale import word
from explainer.render.places import Mark, Place, numbered
from explainer.render.prose import wrap
from explainer.render.theme import Row
from explainer.render.visible import cells, cut, cut_front, expand, one_line, window

#: A line of these alone says nothing about its neighbours.
_EMPTY = " \t\f)]},"


@frozen
class Lens:
    """How much to show, and in how many cells: `width` for code, `prose` for sentences, `gutter` for line numbers."""

    width: int = 80
    prose: int = 80
    gutter: int = 2
    before: int = 2
    after: int = 1
    language: str = "en"
    label_lines: int = 3


def gutter_of(places: tuple[Place, ...]) -> int:
    """The width of the widest line number in sight, at least 2."""
    return max([2, *(len(str(mark.line + 1)) for place in places for mark in place.marks)])


def bar(lens: Lens) -> Row:
    """The gutter of a row without a line number."""
    return ((" " * (lens.gutter + 1) + "|", "gutter"),)


def arrow(place: Place, lens: Lens, first: bool) -> Row:
    """`  --> net.py:18, in Net.forward`; `:::` for every place after the first."""
    function = ""
    if place.function and place.function != "<module>":
        function = f", {word('in', lens.language, function=one_line(place.function))}"
    room = lens.prose - lens.gutter - 4
    function = cut(function, room // 2)
    where = cut_front(numbered(place.file, place.line), room - cells(function)) + function
    return ((" " * lens.gutter, ""), ("--> " if first else "::: ", "gutter"), (where, "place"))


def block(place: Place, report: Report, lens: Lens, first: bool) -> list[Row]:
    """A place with its name. Where the error merely surfaced, the bare line will do: the traceback shows the rest."""
    if not first and all(mark.role == "raised" and not mark.text for mark in place.marks):
        lens = replace(lens, before=0, after=0)
        return [arrow(place, lens, first), *snippet(replace(place, marks=place.marks[:1]), report, lens)[:1]]
    rows = snippet(place, report, replace(lens, before=min(lens.before, 1)) if len(place.marks) > 1 else lens)
    return [arrow(place, lens, first), *([bar(lens)] if rows else []), *rows]


def snippet(place: Place, report: Report, lens: Lens) -> list[Row]:
    """The rows of one place: context, marked lines, underlines, texts."""
    rows: list[Row] = []
    last: int | None = None
    for line, text in _lines(place, report, lens):
        if last is not None and line > last + 1:
            rows.append((("...", "gutter"),))
        last = line
        marks = [mark for mark in place.marks if mark.line == line]
        rows += _marked(line, text, marks, lens)
    return rows


def _lines(place: Place, report: Report, lens: Lens) -> Iterator[tuple[int, str]]:
    """The numbered lines in sight: marked ones, and the context around them without edges that say nothing."""
    marked = {mark.line for mark in place.marks}
    known = {line: report.source.get((place.file, line)) for line in _around(marked, lens)}
    for frame in report.stack:
        if frame.file == place.file and frame.line in marked and known.get(frame.line) is None:
            known[frame.line] = frame.code.split("\n")[0]
    seen = [(line, text) for line, text in sorted(known.items()) if text is not None and (text or line not in marked)]
    while seen and seen[0][0] not in marked and not seen[0][1].strip(_EMPTY):
        del seen[0]
    while seen and seen[-1][0] not in marked and not seen[-1][1].strip(_EMPTY):
        del seen[-1]
    return iter(seen)


def _around(marked: set[int], lens: Lens) -> set[int]:
    """Line numbers to show; one line between two shown ones is shown too, in place of dots."""
    wanted = set(marked)
    wanted |= {min(marked) - back for back in range(1, lens.before + 1)}
    wanted |= {max(marked) + ahead for ahead in range(1, lens.after + 1)}
    return wanted | {line + 1 for line in wanted if line + 2 in wanted}


def _marked(line: int, text: str, marks: list[Mark], lens: Lens) -> list[Row]:
    """A source line with what is underlined in it."""
    room = lens.width - lens.gutter - 3
    shown, starts = expand(text.rstrip("\n"))
    spans = [_cells_of(mark, text, starts) for mark in marks]
    first, last = min((span[0] for span in spans), default=0), max((span[1] for span in spans), default=0)
    shown, shift = window(shown, first, min(last, first + room), room)
    rows: list[Row] = [((f"{line:>{lens.gutter}} |", "gutter"), (f" {shown}", "source"))]
    for mark, (start, end) in sorted(zip(marks, spans, strict=True), key=lambda pair: pair[1][0]):
        start, end = max(start - shift, 0), min(end - shift, cells(shown))
        rows += _underline(mark, start, end, room, lens)
    return rows


def _cells_of(mark: Mark, text: str, starts: list[int]) -> tuple[int, int]:
    """The first and the last cell (exclusive) of a mark in the expanded line."""
    indent = len(text) - len(text.lstrip())
    size = len(text.rstrip())
    start = indent if mark.column is None else min(mark.column - 1, size)
    end = size if mark.column is None or mark.end_column is None else min(mark.end_column - 1, size)
    if end <= start:
        start, end = min(start, indent), size
    return starts[start], starts[end]


def _underline(mark: Mark, start: int, end: int, room: int, lens: Lens) -> Iterator[Row]:
    """The underline with its text beside it where that fits, else under it."""
    if end <= start:
        return
    role, sign = ("primary", "^") if mark.primary else ("secondary", "-")
    line = " " * (start + 1) + sign * (end - start)
    text = one_line(mark.text) or (word(mark.role, lens.language) if mark.role and not mark.primary else "")
    if cells(f"{line} {text}") <= room + 1:
        yield (*bar(lens), (f"{line} {text}".rstrip(), role))
        return
    yield (*bar(lens), (line, role))
    room = lens.prose - lens.gutter - 3
    left = min(start, max(room - 40, 0))
    for part in wrap(text, room - left)[: lens.label_lines]:
        yield (*bar(lens), (" " * (left + 1) + part, role))
