"""Which places of the source a report points at, and what is marked there, for every renderer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from explainer.diagnosis import Diagnosis, ErrorFrame, Fix, Report, Span
from explainer.frozen import frozen
from explainer.render.visible import one_line

#: Families whose errors surface at another time than they happen: their story is told at the culprit.
LATE = ("inplace", "autograd", "nan", "device-assert")
#: Marks at most this many lines apart stand in one block.
NEAR = 5


@frozen
class Mark:
    """An underlined piece of one line. Columns are 1-based characters, the end exclusive; None: the whole line.

    `text` is what stands beside the underline; where there is none, `role` says what the place is: `raised` (the error
    surfaced here) or `cause` (the culprit).
    """

    line: int
    column: int | None = None
    end_column: int | None = None
    text: str = ""
    primary: bool = False
    role: str = ""


@frozen
class Place:
    """A stretch of one file with its marks, in the order of their lines. `line` is the one to name."""

    file: str
    line: int
    function: str
    marks: tuple[Mark, ...]


def user_frame(report: Report) -> ErrorFrame | None:
    """The user's innermost frame."""
    return next((frame for frame in reversed(report.stack) if frame.user), None)


def culprit_or_frame(report: Report) -> Span | None:
    """The line to edit, else the line that failed."""
    if report.diagnoses and report.diagnoses[0].culprit is not None:
        return report.diagnoses[0].culprit
    frame = user_frame(report)
    return Span(frame.file, frame.line, frame.column, None, frame.end_column) if frame else None


def numbered(file: str, line: int) -> str:
    """`net.py:12`, and `Cell In[2], line 12` of a notebook; `<cell>:12` of one that has no name in a text."""
    return f"{one_line(file)}, line {line}" if file.startswith("Cell In[") else f"{one_line(file) or '<cell>'}:{line}"


def said(report: Report) -> str:
    """`RuntimeError: what torch said`, on one line."""
    kind, message = one_line(report.type), one_line(report.message)
    return ": ".join(part for part in (kind, message) if part)


def places(report: Report) -> tuple[Place, ...]:
    """What to show of the source, the main place first."""
    frame = user_frame(report)
    diagnosis = report.diagnoses[0] if report.diagnoses else None
    marks = _marks(frame, diagnosis)
    found: list[Place] = []
    for file, mark in marks:
        found = _placed(found, file, mark)
    return tuple(_named(place, report) for place in found)


def _marks(frame: ErrorFrame | None, diagnosis: Diagnosis | None) -> list[tuple[str, Mark]]:
    """Every mark with its file, the primary one first."""
    crash = [(frame.file, _frame_mark(frame))] if frame and frame.line > 0 else []
    if diagnosis is None:
        return [(file, replace(mark, primary=True)) for file, mark in crash]
    labels = [(label.file, Mark(label.line, label.column, label.end_column, label.text)) for label in diagnosis.labels]
    culprit = diagnosis.culprit
    if culprit and _is_subject(culprit, diagnosis, crash):
        main = [(culprit.file, _span_mark(culprit))]
        return _merged([*main, *labels, *crash])
    shown = [] if culprit is None or _edited(culprit, diagnosis.fixes[:1]) else [(culprit.file, _span_mark(culprit))]
    return _merged([*crash, *labels, *shown])


def _is_subject(culprit: Span, diagnosis: Diagnosis, crash: list[tuple[str, Mark]]) -> bool:
    """Whether the diagnosis is told at the line to edit, not at the line that crashed."""
    if not crash:
        return True
    file, mark = crash[0]
    return diagnosis.family in LATE and (culprit.file, culprit.line) != (file, mark.line)


def _edited(span: Span, fixes: Iterable[Fix]) -> bool:
    """Whether a fix's own lines show the span already."""
    edits = [edit for fix in fixes for edit in fix.edits]
    return any(edit.file == span.file and edit.start_line <= span.line <= edit.end_line for edit in edits)


def _frame_mark(frame: ErrorFrame) -> Mark:
    """The failing expression; of one that goes over several lines, the first line."""
    single = "\n" not in frame.code.strip()
    return Mark(frame.line, frame.column, frame.end_column if single else None, role="raised")


def _span_mark(span: Span) -> Mark:
    """The first line of a span."""
    single = span.end_line in (None, span.line)
    return Mark(span.line, span.column, span.end_column if single else None, role="cause")


def _merged(marks: list[tuple[str, Mark]]) -> list[tuple[str, Mark]]:
    """The first mark made primary, and marks of one place made one, which keeps the texts of both."""
    merged: list[tuple[str, Mark]] = []
    for file, mark in marks:
        index = next((i for i, (other, seen) in enumerate(merged) if other == file and _same(seen, mark)), None)
        if index is None:
            merged.append((file, mark))
        else:
            merged[index] = (file, _both(merged[index][1], mark))
    return [(file, replace(mark, primary=index == 0)) for index, (file, mark) in enumerate(merged)]


def _same(one: Mark, other: Mark) -> bool:
    """Whether two marks underline the same: equal columns, or one of them names only the line."""
    if one.line != other.line:
        return False
    return one.column == other.column or one.column is None or other.column is None


def _both(one: Mark, other: Mark) -> Mark:
    """One mark for two, with the columns of the one that has them."""
    exact = one if one.column is not None else other
    text = "; ".join(dict.fromkeys(text for text in (one.text, other.text) if text))
    return replace(exact, text=text, role=one.role or other.role)


def _placed(found: list[Place], file: str, mark: Mark) -> list[Place]:
    """The places with one more mark: in the place that it lies near, else in a new one."""
    for index, place in enumerate(found):
        if place.file == file and any(abs(mark.line - other.line) <= NEAR for other in place.marks):
            marks = tuple(sorted((*place.marks, mark), key=lambda each: (each.line, each.column or 0)))
            return [*found[:index], replace(place, marks=marks), *found[index + 1 :]]
    return [*found, Place(file, mark.line, "", (mark,))]


def _named(place: Place, report: Report) -> Place:
    """The place with the function that a frame names for its line."""
    frames = [frame for frame in report.stack if (frame.file, frame.line) == (place.file, place.line)]
    return replace(place, function=frames[-1].function if frames else "")
