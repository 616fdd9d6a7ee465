"""GitHub Actions annotations: one `::error` command a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from explainer.diagnosis import Diagnosis, Report
from explainer.locale import word
from explainer.render.fixes import certainty, diff, joined, place_of
from explainer.render.places import culprit_or_frame, said
from explainer.render.visible import cut, one_line, visible

#: An annotation is read beside the code, a few lines high: so many characters of the message and of the cause, so many
#: fixes. The log above it, and the other formats, have the rest.
_MESSAGE, _CAUSE, _FIXES = 300, 600, 2


def render(reports: Sequence[Report]) -> str:
    """One workflow command a line; see GitHub's "Workflow commands for GitHub Actions"."""
    return "".join(f"{_command(report)}\n" for report in reports)


def _command(report: Report) -> str:
    """`::error file=net.py,line=12,title=...::...`."""
    diagnosis = report.diagnoses[0] if report.diagnoses else None
    title = f"{diagnosis.headline} [{diagnosis.rule}]" if diagnosis else report.type
    properties = {**_position(report), "title": cut(one_line(title), 200)}
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::error {listed}::{_data(chr(10).join(_lines(report, diagnosis)))}"


def _position(report: Report) -> dict[str, str]:
    """The line to edit, else the line that failed."""
    place = culprit_or_frame(report)
    if place is None:
        return {}
    numbers = {"line": place.line, "endLine": place.end_line, "col": place.column}
    if place.end_line in (None, place.line):
        numbers["endColumn"] = place.end_column
    return {"file": one_line(place.file), **{name: str(value) for name, value in numbers.items() if value is not None}}


def _lines(report: Report, diagnosis: Diagnosis | None) -> Iterator[str]:
    """The annotation's text."""
    yield cut(said(report), _MESSAGE)
    if diagnosis is None:
        return
    language = report.language
    yield f"{word('why', language)}: {cut(diagnosis.cause.strip(), _CAUSE)}"
    for index, fix in enumerate(diagnosis.fixes[:_FIXES]):
        mark, words = certainty(fix, language)
        where = f"{place_of(fix.edits[0])} " if fix.edits else f"{fix.title} " if words != fix.title else ""
        yield f"{word('or' if index else 'fix', language)}: {where}{joined(mark, words)}"
        for edit in fix.edits:
            yield from (f"{sign} {line}" for sign, line in diff(edit))
    yield word("more", language, rule=diagnosis.rule)


def _data(text: str) -> str:
    """A command's message, escaped as the runner wants it."""
    return visible(text, keep="\n").replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """A command's property, in which also `:` and `,` are signs."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
