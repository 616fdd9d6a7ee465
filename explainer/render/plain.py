"""The diagnosis narrated in sentences, for screen readers and speech: nothing is said by lines, signs or position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import dedent

from explainer.diagnosis import Diagnosis, Edit, Evidence, Fix, Report
from explainer.locale import word
from explainer.render.fixes import certainty
from explainer.render.places import said, user_frame
from explainer.render.prose import wrap
from explainer.render.visible import cut, one_line, visible

#: Longest piece of code that is read out.
_LONG = 200


def render(reports: Sequence[Report], width: int = 80, full: bool = False) -> str:
    """The reports as paragraphs; sentences are wrapped at `width`, code stands on lines of its own."""
    texts = []
    for number, report in enumerate(reports, 1):
        lines = list(_report(report, width, full))
        if len(reports) > 1:
            lines.insert(0, word("say_report", report.language, number=number, total=len(reports)))
        texts.append("\n".join(lines) + "\n")
    return "\n".join(texts)


def _report(report: Report, width: int, full: bool) -> Iterator[str]:
    """One report, sentence by sentence."""
    language = report.language
    diagnosis = report.diagnoses[0] if report.diagnoses else None
    if diagnosis:
        head = word("say_error", language, rule=diagnosis.rule, headline=diagnosis.headline)
    else:
        head = word("say_plain_error", language)
    yield from wrap(head, width)
    message = said(report) if full else cut(said(report), 4 * width)
    yield from wrap(word("say_torch", language, message=message), width)
    for remark in report.remarks:
        yield from wrap(remark, width)
    if report.count > 1:
        yield from wrap(_sentence(word("count", language, count=report.count), language), width)
    yield from _place(report, width)
    if diagnosis:
        yield from _diagnosis(diagnosis, language, width)
    else:
        yield from _values(report.operands, language, width)


def _sentence(text: str, language: str) -> str:
    """A capital at the start, a full stop at the end."""
    return text[:1].upper() + text[1:] + ("。" if language == "zh" else ".")


def _place(report: Report, width: int) -> Iterator[str]:
    """The user's frame: where, the line, the part that failed."""
    frame = user_frame(report)
    if frame is None:
        return
    key = "say_place" if frame.function and frame.function != "<module>" else "say_place_bare"
    place = word(key, report.language, file=frame.file, line=frame.line, function=frame.function)
    yield from wrap(place, width)
    source = report.source.get((frame.file, frame.line)) or frame.code.split("\n")[0]
    yield from _code(source)
    if frame.column and frame.end_column and "\n" not in frame.code.strip():
        part = source[frame.column - 1 : frame.end_column - 1].strip()
        if part and part != source.strip():
            yield from wrap(word("say_part", report.language, code=one_line(part)[:_LONG]), width)


def _diagnosis(diagnosis: Diagnosis, language: str, width: int) -> Iterator[str]:
    """Values, culprit, labels, why, from, fixes, notes, rule."""
    yield from _values(diagnosis.evidence, language, width)
    culprit = diagnosis.culprit
    if culprit and culprit.code:
        yield from wrap(word("say_culprit", language, file=culprit.file, line=culprit.line), width)
        yield from _code(culprit.code.split("\n")[0])
    for label in diagnosis.labels:
        yield from wrap(word("say_label", language, file=label.file, line=label.line, text=label.text), width)
    yield from wrap(word("say_why", language, text=diagnosis.cause), width)
    if diagnosis.origin:
        yield from wrap(word("say_from", language, text=diagnosis.origin), width)
    for number, fix in enumerate(diagnosis.fixes, 1):
        yield from _fix(fix, number, language, width)
    if diagnosis.untried:
        yield from wrap(_sentence(word(f"untried_{diagnosis.untried}", language), language), width)
    for note in diagnosis.notes:
        yield from wrap(word("say_next", language, text=note), width)
    yield from wrap(word("say_rule", language, rule=diagnosis.rule), width)


def _values(rows: Sequence[Evidence], language: str, width: int) -> Iterator[str]:
    """One sentence a value."""
    if rows:
        yield word("say_values", language)
    for row in rows:
        yield from wrap(f"{one_line(row.label)}: {one_line(row.value)[:_LONG]}", width)


def _fix(fix: Fix, number: int, language: str, width: int) -> Iterator[str]:
    """A fix: how sure, and what is to be replaced by what."""
    mark, said = certainty(fix, language)
    text = f"{fix.title}; {said}" if said != fix.title and not fix.edits else said
    yield from wrap(word("say_fix", language, number=number, certainty=mark, text=text), width)
    for edit in fix.edits:
        yield from _edit(edit, language, width)


def _edit(edit: Edit, language: str, width: int) -> Iterator[str]:
    """`replace: ... with: ...`, `delete: ...` or `insert: ...`."""
    key = "say_insert" if edit.before is None else "say_delete" if edit.after is None else "say_replace"
    yield from wrap(word(key, language, file=edit.file, line=edit.start_line), width)
    if edit.before is not None:
        yield from _code(edit.before)
    if edit.before is not None and edit.after is not None:
        yield word("say_with", language)
    if edit.after is not None:
        yield from _code(edit.after)


def _code(text: str) -> Iterator[str]:
    """Source lines, set in by four spaces in place of their own indent, and cut where they are very long."""
    for line in dedent(text).split("\n"):
        yield "    " + cut(visible(line.strip("\r\n"), keep="\t").expandtabs(4), _LONG)
