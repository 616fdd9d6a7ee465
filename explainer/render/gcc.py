"""`path:line:column: error: headline [rule]`, a line a finding: what editors, quickfix lists and CI matchers read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from explainer.diagnosis import Report, Span
from explainer.render.fixes import certainty, joined, place_of
from explainer.render.places import culprit_or_frame, said
from explainer.render.visible import cut, one_line

_WIDTH = 300


def render(reports: Sequence[Report]) -> str:
    """The GNU form (https://www.gnu.org/prep/standards/html_node/Errors.html): an error, then its notes."""
    return "".join(f"{line}\n" for report in reports for line in _lines(report))


def _lines(report: Report) -> Iterator[str]:
    diagnosis = report.diagnoses[0] if report.diagnoses else None
    place = culprit_or_frame(report)
    if diagnosis is None:
        yield f"{_at(place)}error: {_text(said(report))}"
        return
    yield f"{_at(place)}error: {_text(diagnosis.headline)} [{diagnosis.rule}]"
    for fix in diagnosis.fixes:
        mark, words = certainty(fix, report.language)
        edit = fix.edits[0] if fix.edits else None
        where = f"{one_line(place_of(edit))}: " if edit else _at(place)
        title = f"{fix.title}; " if fix.title not in ("", words) else ""
        yield f"{where}note: {_text(title + joined(mark, words))}"


def _at(place: Span | None) -> str:
    """`net.py:12:9: `, the columns left out where they are not known; `explain: ` without any place."""
    if place is None:
        return "explain: "
    numbers = [str(number) for number in (place.line, place.column) if number]
    return ":".join((one_line(place.file), *numbers)) + ": "


def _text(text: str) -> str:
    return cut(one_line(text), _WIDTH)
