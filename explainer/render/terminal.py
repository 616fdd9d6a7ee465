"""The diagnosis as a person sees it: at most 25 lines of 80 cells, what is wrong, where, why, what to change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TextIO

from explainer.diagnosis import Diagnosis, Evidence, Fix, Report
from explainer.locale import word
from explainer.patterns import Pattern
from explainer.render.budget import Plan, fit
from explainer.render.fixes import fix_rows, fixes_of
from explainer.render.places import Place, places, said
from explainer.render.prose import wrap
from explainer.render.snippet import Lens, bar, block, gutter_of
from explainer.render.theme import STYLES, Row, ansi, plain, stripped, wants_color, width_of
from explainer.render.visible import cells, cut, one_line, padded

if TYPE_CHECKING:
    from rich.text import Text

#: Widest line that `full` shows before it cuts.
FULL_WIDTH = 1000
_SENTENCE_END = Pattern(r"[.!?](?=\s|$)|[。！？]")
_TENSOR = Pattern(r"(\[[^\]]*\]) (\S+) ([\w:]+),?(?: (.+))?")


def render(reports: Sequence[Report], width: int = 80, full: bool = False) -> Text:
    """The reports as styled text of at most `width` cells a line (diff and source lines too, unless `full`)."""
    from rich.text import Text

    text = Text(no_wrap=True)
    for index, report in enumerate(reports):
        if index:
            text.append("\n")
        for row in report_rows(report, width, full):
            for piece, role in stripped(row):
                text.append(piece, style=STYLES[role])
            text.append("\n")
    return text


def to_str(reports: Sequence[Report], width: int = 80, full: bool = False, color: bool = False) -> str:
    """The reports as a string, with ANSI codes where `color`; ends with a newline unless there is no report."""
    shown = ansi if color else plain
    rows = (report_rows(report, width, full) for report in reports)
    return "\n".join("".join(f"{shown(row)}\n" for row in each) for each in rows)


def print_to(stream: TextIO, reports: Sequence[Report], *, color: str = "auto", full: bool = False) -> None:
    """Write the reports to `stream` in its width and encoding, coloured as `theme.wants_color` decides, and flush."""
    text = to_str(reports, width_of(stream), full, wants_color(stream, color))
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def report_rows(report: Report, width: int = 80, full: bool = False) -> list[Row]:
    """The rows of one report."""
    return fit(lambda plan: _compose(report, plan, width, full), full)


def _compose(report: Report, plan: Plan, width: int, full: bool) -> list[Row]:
    """All parts under one plan, in the order in which they are read."""
    language, shown = report.language, places(report)[: plan.places]
    code_width = FULL_WIDTH if full else width
    lens = Lens(code_width, width, gutter_of(shown), plan.before, plan.after, language, plan.labels)
    rows = _head(report, plan, width) + _source(report, shown, plan, lens)
    if not report.diagnoses:
        return rows
    rows += [] if shown else [()]
    diagnosis = report.diagnoses[0]
    rows += _section("why", wrap(diagnosis.cause, _room(language, width)), plan.why, language)
    rows += _section("from", wrap(diagnosis.origin, _room(language, width)), plan.origin, language)
    fixes = _fixes(fixes_of(report), plan, lens)
    if fixes:
        rows += [(), *fixes]
    rows += _untried(diagnosis, bool(fixes), language, width)
    for note in diagnosis.notes[: plan.notes]:
        rows += _section("next", wrap(note, _room(language, width)), 3, language)
    for link in diagnosis.links[: plan.links]:
        rows += _section("see", [one_line(link)], 1, language)
    return rows + _rule(diagnosis, plan, language, width)


def _head(report: Report, plan: Plan, width: int) -> list[Row]:
    """What is wrong, what torch said, and what is known of the job."""
    rows: list[Row] = []
    language = report.language
    if report.diagnoses:
        rows += _headline(report.diagnoses[0], plan, language, width)
    if said(report):
        rows += _message(said(report), plan.message, language, width)
    remarks = [*report.remarks]
    if report.count > 1:
        remarks.append(word("count", language, count=report.count))
    lines = [line for remark in remarks for line in wrap(remark, _room(language, width))]
    return rows + _section("note", lines, plan.remarks, language)


def _headline(diagnosis: Diagnosis, plan: Plan, language: str, width: int) -> list[Row]:
    """`error[linear-input-size]: fc1 expects ...`."""
    head = f"{word('silent' if diagnosis.family == 'training' else 'error', language)}[{one_line(diagnosis.rule)}]:"
    lines = _limited(_hanging(f"{head} {one_line(diagnosis.headline)}", width), plan.headline)
    if not lines[0].startswith(head):
        return [((line, "headline"),) for line in lines]
    return [((head, "error"), (lines[0][len(head) :], "headline")), *(((line, "headline"),) for line in lines[1:])]


def _message(text: str, limit: int, language: str, width: int) -> list[Row]:
    """Torch's own sentence, on `limit` lines at most."""
    lines = _hanging(text, width)
    if len(lines) > limit:
        tail = word("cut", language)
        last = _without_last_word(lines[limit - 1], width - cells(tail) - 1)
        lines = [*lines[: limit - 1], f"{last} {tail}"]
    return [((line, "message"),) for line in lines]


def _without_last_word(line: str, width: int) -> str:
    """As many whole words of a line as fit into `width` cells; of a line without spaces as many characters."""
    shown = cut(line, width, "")
    return shown.rstrip() if shown == line or " " not in shown.strip() else shown.rpartition(" ")[0].rstrip()


def _hanging(text: str, width: int) -> list[str]:
    """A sentence wrapped, its later lines set in by two cells."""
    first, *rest = wrap(text, width) or [""]
    return [first, *(f"  {line}" for line in wrap(" ".join(rest), width - 2))]


def _limited(lines: list[str], limit: int) -> list[str]:
    """At most `limit` lines, cut behind a sentence where one ends in the latter half; dots say that more follows."""
    if len(lines) <= limit:
        return lines
    room = max(map(cells, lines))
    for at in range(limit - 1, limit // 2 - 1, -1):
        ends = [found.end() for found in _SENTENCE_END.finditer(lines[at])]
        if ends and at:
            last = lines[at][: ends[-1]]
            return [*lines[:at], last + " ..." if cells(last) + 4 <= room else last]
    last = lines[limit - 1]
    return [*lines[: limit - 1], _without_last_word(last, max(cells(last) - 4, 0)) + " ..."]


def _source(report: Report, shown: Sequence[Place], plan: Plan, lens: Lens) -> list[Row]:
    """The places in the source, the operand table under the first one."""
    operands = _operands(report)
    if not shown:
        return _table(operands, plan, lens)
    rows: list[Row] = []
    for index, place in enumerate(shown):
        rows += block(_with_marks(place, plan), report, lens, first=index == 0)
        if index == 0:
            rows += _table(operands, plan, lens)
    return [*rows, bar(lens)] if report.diagnoses and len(rows) > len(shown) else rows


def _with_marks(place: Place, plan: Plan) -> Place:
    """The place with its most telling marks: the primary one, then those with a text."""
    ranked = sorted(place.marks, key=lambda mark: (not mark.primary, not mark.text))
    telling = [mark for mark in ranked if plan.raised or mark.primary or mark.text or mark.role != "raised"]
    kept = (telling or ranked)[: plan.marks]
    return replace(place, marks=tuple(mark for mark in place.marks if mark in kept))


def _operands(report: Report) -> tuple[Evidence, ...]:
    """The rows of the operand table: the diagnosis's evidence, else what the crash itself shows."""
    return (report.diagnoses[0].evidence if report.diagnoses else ()) or report.operands


def _table(operands: Sequence[Evidence], plan: Plan, lens: Lens) -> list[Row]:
    """Names and values in columns; shape, dtype and device of tensors each in one of their own."""
    shown = operands[: plan.operands]
    names = [one_line(row.label) for row in shown]
    room = lens.width - lens.gutter - 5
    left = min(max((cells(name) for name in names), default=0), 24, room // 2)
    columns = _columns([one_line(row.value) for row in shown])
    rows: list[Row] = []
    for name, value in zip(names, columns, strict=True):
        name = padded(cut(name, left), left)
        value = _cut_value(value, room - left - 2)
        rows.append((*bar(lens), ("   ", ""), (name, "operand"), (f"  {value}", "value")))
    if len(operands) > len(shown):
        rows.append((*bar(lens), ("   " + word("more_rows", lens.language, count=len(operands) - len(shown)), "quiet")))
    return rows


def _cut_value(value: str, width: int) -> str:
    """A value cut to `width` cells; of a layer's configuration whole settings are left out."""
    if cells(value) <= width:
        return value
    whole, comma, _ = cut(value, width - 3, "").rpartition(", ")
    return f"{whole}, ..." if comma else cut(value, width)


def _columns(values: list[str]) -> list[str]:
    """`[4, 576] float32 cpu` with each part padded to the widest of its column; other values as they are."""
    parts = [match.groups() if (match := _TENSOR.fullmatch(value)) else None for value in values]
    tensors = [part for part in parts if part]
    widths = [max((cells(part[column]) for part in tensors), default=0) for column in range(3)]
    lines = []
    for value, part in zip(values, parts, strict=True):
        cut_in = [padded(part[i], widths[i]) for i in range(3)] + [part[3] or ""] if part else [value]
        lines.append("  ".join(cut_in).rstrip())
    return lines


def _edge(language: str) -> int:
    """Cells of the column of words at the left edge."""
    return 2 + max(cells(word(key, language)) for key in ("why", "from", "fix", "or", "next", "rule", "note", "see"))


def _room(language: str, width: int) -> int:
    """Cells that prose has beside the words at the left edge."""
    return max(width - _edge(language), 10)


def _section(key: str, lines: Iterable[str], limit: int, language: str) -> list[Row]:
    """A word at the left edge and its prose beside it."""
    shown = _limited(list(lines), limit) if limit else []
    return _labelled(key, [((line, "prose"),) for line in shown], language)


def _labelled(key: str, rows: Sequence[Row], language: str) -> list[Row]:
    """Rows with a word before the first one and as many spaces before the others."""
    edge = _edge(language)
    heads = [(padded(word(key, language), edge), "word"), *[(" " * edge, "")] * len(rows)]
    return [(head, *row) for head, row in zip(heads, rows, strict=False)]


def _fixes(fixes: Sequence[Fix], plan: Plan, lens: Lens) -> list[Row]:
    """The first fix and as many others as the plan allows, with titles where that does or edits are to choose from."""
    titled = plan.titles or sum(1 for fix in fixes if fix.edits) > 1
    rows: list[Row] = []
    for index, fix in enumerate(fixes[: plan.ors + 1]):
        inner = fix_rows(fix, lens, _edge(lens.language), plan.diff, titled)
        if index == 0 and plan.apply and fix.certainty == "checked" and fix.edits:
            inner.append(((cut(word("apply", lens.language), _room(lens.language, lens.prose)), "quiet"),))
        rows += _labelled("or" if index else "fix", inner, lens.language)
    return rows


def _untried(diagnosis: Diagnosis, below: bool, language: str, width: int) -> list[Row]:
    """Why no fix was tried, where that is so: `below` the fixes, or in their place."""
    if not diagnosis.untried:
        return []
    rows = [((line, "quiet"),) for line in wrap(word(f"untried_{diagnosis.untried}", language), _room(language, width))]
    return [((" " * _edge(language), ""), *row) for row in rows] if below else _labelled("fix", rows, language)


def _rule(diagnosis: Diagnosis, plan: Plan, language: str, width: int) -> list[Row]:
    """The rule's id, the command that says more, and how sure it is where it is not proved, with what that means."""
    rule, sure = one_line(diagnosis.rule), diagnosis.certainty
    hint = plan.means and sure != "proved"
    if sure != "proved" and not hint:
        rule += f" ({word(sure, language)})"
    more = word("more", language, rule=one_line(diagnosis.rule))
    rows: list[Row] = [((cut(rule, _room(language, width)), ""),)]
    if cells(f"{padded(rule, 26)}  {more}") <= _room(language, width):
        rows = [((padded(rule, 26), ""), ("  " + more, "quiet"))]
    if hint:
        means = word(f"{sure}_means", language)
        rows += [((line, "quiet"),) for line in wrap(means, _room(language, width))]
    return _labelled("rule", rows, language)
