"""A fix as rows: where, what was checked, and the lines that go and come."""

from __future__ import annotations

from dataclasses import replace
from difflib import SequenceMatcher
from textwrap import dedent

from explainer.diagnosis import Edit, Fix, Report
from explainer.locale import word
from explainer.render.places import numbered
from explainer.render.prose import wrap
from explainer.render.snippet import Lens
from explainer.render.theme import Row
from explainer.render.visible import cells, cut, cut_front, expand, padded, window

#: The cell at which `checked:` starts, and where prose starts after the word at the left edge.
CHECKED_AT = 21
#: The cell up to which a longer file name may push it.
_FAR = 36
#: Pairs of lines that a diff compares at most; a larger edit is shown as all that goes and all that comes.
_COMPARED = 10_000


def certainty(fix: Fix, language: str) -> tuple[str, str]:
    """The word for how sure a fix is, and what follows it: what was run, or when the fix is right."""
    said = fix.checked if fix.certainty == "checked" and fix.checked else fix.title
    return word(fix.certainty, language), said


def joined(mark: str, said: str) -> str:
    """`checked: ...`, without a space after a full-width colon."""
    return f"{mark}{'' if mark.endswith('：') else ' '}{said}"


def fix_rows(fix: Fix, lens: Lens, indent: int, diff_lines: int, titled: bool) -> list[Row]:
    """The rows of one fix beside a word of `indent` cells: title if `titled`, place, certainty, diff."""
    language, width = lens.language, lens.prose
    if not fix.edits:
        return _words_only(fix, language, indent, width)
    rows: list[Row] = [((line, "prose"),) for line in wrap(fix.title, width - indent)] if titled and fix.checked else []
    rows += _place_and_check(fix, language, indent, width)
    return rows + _diffs(fix, lens, indent, diff_lines)


def _diffs(fix: Fix, lens: Lens, indent: int, limit: int) -> list[Row]:
    """The lines of all edits, `limit` of them at most; says so where lines or parts of lines are left out."""
    rows: list[Row] = []
    shown, width = 0, lens.width - indent
    for index, edit in enumerate(fix.edits):
        if index and shown < limit:
            rows.append(((cut_front(place_of(edit), width), "place"),))
        lines = _without_indent(diff(edit), width - 2)
        rows += [_diff_row(*line, lines, width) for line in lines[: max(limit - shown, 0)]]
        shown += len(lines)
    if shown > limit:
        rows.append(((word("more_lines", lens.language, count=shown - limit), "quiet"),))
    elif any(cells(expand(line)[0]) > width - 2 for edit in fix.edits for line in _comes(edit)):
        rows.append(((cut(word("whole", lens.language), width), "quiet"),))
    return rows


def _comes(edit: Edit) -> list[str]:
    """The lines that an edit brings, without the indent they share: so far a line is shown whole."""
    return dedent(edit.after or "").split("\n")


def _words_only(fix: Fix, language: str, indent: int, width: int) -> list[Row]:
    """A fix without an edit: its title, and under it what was checked."""
    mark, said = certainty(fix, language)
    if fix.certainty == "checked" and fix.checked:
        rows: list[Row] = [((line, "prose"),) for line in wrap(fix.title, width - indent)]
        return rows + _said(mark, said, fix.certainty, CHECKED_AT - indent, width - indent)
    return _said(mark, said, fix.certainty, 0, width - indent)


def _said(mark: str, said: str, role: str, at: int, width: int) -> list[Row]:
    """`checked: with this edit ...`, wrapped under itself from the cell `at`."""
    lines = wrap(joined(mark, said), width - at)
    rows: list[Row] = []
    for index, line in enumerate(lines):
        head = mark if index == 0 and line.startswith(mark) else ""
        rows.append(((" " * at, ""), (head, role), (line[len(head) :], "prose")))
    return rows


def _place_and_check(fix: Fix, language: str, indent: int, width: int) -> list[Row]:
    """`net.py:12      checked: ...`, on two rows where the file's name is long."""
    where, at = place_of(fix.edits[0]), CHECKED_AT - indent
    if cells(where) > at - 2 and cells(where) + 2 <= _FAR - indent:
        at = cells(where) + 2
    rows = _said(*certainty(fix, language), fix.certainty, at, width - indent)
    if rows and cells(where) <= at - 2:
        return [((padded(where, at), "place"), *rows[0][1:]), *rows[1:]]
    return [((cut_front(where, width - indent), "place"),), *rows]


def fixes_of(report: Report) -> tuple[Fix, ...]:
    """The fixes of the first diagnosis, each insertion with the line above it, so that one sees where it goes."""
    fixes = report.diagnoses[0].fixes if report.diagnoses else ()
    return tuple(replace(fix, edits=tuple(_placed(edit, report) for edit in fix.edits)) for fix in fixes)


def _placed(edit: Edit, report: Report) -> Edit:
    """An insertion that begins with the unchanged line above it; any other edit as it is."""
    above = report.source.get((edit.file, edit.start_line - 1), "")
    if edit.before is not None or edit.after is None or not above.strip():
        return edit
    return replace(edit, start_line=edit.start_line - 1, before=above, after=f"{above}\n{edit.after}")


def place_of(edit: Edit) -> str:
    """`net.py:12`."""
    return numbered(edit.file, edit.start_line)


def diff(edit: Edit) -> list[tuple[str, str]]:
    """The lines of an edit, each with its sign: `-` goes, `+` comes, a space stays."""
    before = [] if edit.before is None else edit.before.split("\n")
    after = [] if edit.after is None else edit.after.split("\n")
    lines: list[tuple[str, str]] = []
    if len(before) * len(after) > _COMPARED:
        return [("-", line) for line in before] + [("+", line) for line in after]
    for tag, i, j, k, m in SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes():
        if tag == "equal":
            lines += [(" ", line) for line in before[i:j]]
        else:
            lines += [("-", line) for line in before[i:j]] + [("+", line) for line in after[k:m]]
    return lines


def _without_indent(lines: list[tuple[str, str]], width: int) -> list[tuple[str, str]]:
    """The lines without the indent that they share, where one of them would be wider than `width` with it."""
    if all(cells(expand(text)[0]) <= width for _, text in lines):
        return lines
    indent = min((len(text) - len(text.lstrip()) for _, text in lines if text.strip()), default=0)
    return [(sign, text[indent:]) for sign, text in lines]


def _diff_row(sign: str, text: str, lines: list[tuple[str, str]], width: int) -> Row:
    """One line of the diff; of a line that is too wide the part that differs."""
    shown, starts = expand(text)
    if cells(shown) > width - 2:
        first, last = _differing(text, [line for other, line in lines if other != sign], starts)
        shown, _ = window(shown, first, last, width - 2)
    role = {"-": "minus", "+": "plus"}.get(sign, "source")
    return ((f"{sign} {shown}", role),)


def _differing(text: str, others: list[str], starts: list[int]) -> tuple[int, int]:
    """The cells of a line in which it differs from its nearest counterpart."""
    other = max(others[:20], key=lambda line: SequenceMatcher(a=line[:200], b=text[:200]).ratio(), default="")
    first = next((i for i, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), min(len(text), len(other)))
    common = zip(reversed(text[first:]), reversed(other[first:]), strict=False)
    same = next((i for i, (a, b) in enumerate(common) if a != b), 0)
    return starts[first], starts[max(len(text) - same, first)]
