"""The diagnosis as GitHub-flavoured Markdown, for issues, comments and chat."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from explainer.diagnosis import Diagnosis, Edit, Evidence, Fix, Report
from explainer.locale import word
from explainer.patterns import Pattern
from explainer.render.fixes import certainty, diff, fixes_of, joined, place_of
from explainer.render.places import places, said
from explainer.render.snippet import Lens, arrow, bar, gutter_of, snippet
from explainer.render.theme import plain
from explainer.render.visible import cut, one_line, visible

_SPECIAL = Pattern(r"([\\*_\[\]<>#|~&$@]|^(?:[-+=]|\d+[.)]))")
_WIDTH = 160


def render(reports: Sequence[Report], full: bool = False) -> str:
    """The reports as Markdown, a rule between two of them."""
    return "\n---\n\n".join("\n".join(_report(report, full)) for report in reports)


def _report(report: Report, full: bool) -> Iterator[str]:
    """One report: heading, torch's sentence, source, why, from, fixes."""
    language = report.language
    diagnosis = report.diagnoses[0] if report.diagnoses else None
    if diagnosis:
        yield f"### {word('error', language)}[{prose(diagnosis.rule)}]: {prose(diagnosis.headline)}\n"
    yield from fenced([said(report) if full else cut(said(report), 4 * _WIDTH)], "text")
    remarks = [*report.remarks, *([word("count", language, count=report.count)] if report.count > 1 else [])]
    yield from (f"- {prose(remark)}" for remark in remarks)
    yield from ([""] if remarks else [])
    yield from _source(report)
    yield from _values(diagnosis.evidence if diagnosis else report.operands)
    if diagnosis:
        yield from _diagnosis(diagnosis, report)


def _source(report: Report) -> Iterator[str]:
    """The marked source lines in a fence, as the terminal has them."""
    shown = places(report)
    lens = Lens(width=_WIDTH, prose=_WIDTH, gutter=gutter_of(shown), language=report.language)
    lines: list[str] = []
    for index, place in enumerate(shown):
        rows = [arrow(place, lens, first=index == 0), bar(lens), *snippet(place, report, lens)]
        lines += [plain(row) for row in rows]
    if lines:
        yield from fenced(lines, "text")


def _values(rows: Sequence[Evidence]) -> Iterator[str]:
    """A list of code spans, name and value."""
    for row in rows:
        yield f"- {code(row.label)} {code(row.value)}"
    if rows:
        yield ""


def _diagnosis(diagnosis: Diagnosis, report: Report) -> Iterator[str]:
    """Why, from, fixes, notes, rule and links."""
    language = report.language
    yield from _paragraph("why", diagnosis.cause, language)
    yield from _paragraph("from", diagnosis.origin, language)
    for index, fix in enumerate(fixes_of(report)):
        yield from _fix(fix, "or" if index else "fix", language)
    if diagnosis.untried:
        yield f"{prose(word(f'untried_{diagnosis.untried}', language))}\n"
    for note in diagnosis.notes:
        yield from _paragraph("next", note, language)
    rule = f"**{word('rule', language)}** {code(diagnosis.rule)} ({word(diagnosis.certainty, language)})"
    yield "  \n".join([rule, *(f"<{link}>" for link in diagnosis.links if _is_link(link))]) + "\n"


def _is_link(text: str) -> bool:
    """Whether a text is an address and nothing else."""
    return re.fullmatch(r"https?://[^\s<>]+", text) is not None


def _paragraph(key: str, text: str, language: str) -> Iterator[str]:
    """A bold word and its prose; lines that begin with `- ` make a list."""
    lines = [line.strip() for line in text.strip().splitlines()]
    if not lines:
        return
    head, *rest = lines
    yield f"**{word(key, language)}** {prose(head)}"
    for before, line in zip(lines, rest, strict=False):
        if line.startswith("- ") and not before.startswith("- "):
            yield ""
        yield f"- {prose(line[2:])}" if line.startswith("- ") else prose(line)
    yield ""


def _fix(fix: Fix, key: str, language: str) -> Iterator[str]:
    """Title, certainty and the edits as diffs."""
    mark, said = certainty(fix, language)
    head = prose(f"{fix.title} ({joined(mark, said)})" if said != fix.title else joined(mark, said))
    yield f"**{word(key, language)}** {head}\n"
    for edit in fix.edits:
        yield f"{code(place_of(edit))}\n"
        yield from fenced(_patch(edit), "diff")


def _patch(edit: Edit) -> list[str]:
    """The lines of an edit with their signs."""
    return [f"{sign}{visible(line, keep=chr(9))}" for sign, line in diff(edit)]


def fenced(lines: Sequence[str], language: str) -> Iterator[str]:
    """A code fence that is longer than any run of backticks inside."""
    shown = [visible(line, keep="\t") for line in lines]
    fence = "`" * max(3, 1 + max((len(run) for line in shown for run in re.findall("`+", line)), default=0))
    yield f"{fence}{language}"
    yield from shown
    yield f"{fence}\n"


def code(text: str) -> str:
    """A code span that holds any text."""
    shown = one_line(text)
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"


def prose(text: str) -> str:
    """A sentence with Markdown's and HTML's signs escaped; what stands in single backticks stays code."""
    parts = re.split(r"(`[^`]+`)", one_line(text))
    return "".join(part if index % 2 else _escaped(part) for index, part in enumerate(parts))


def _escaped(text: str) -> str:
    """Text with a backslash before every sign that Markdown or HTML would act on."""
    return _SPECIAL.sub(r"\\\1", text).replace("`", "\\`")
