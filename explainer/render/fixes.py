"""A fix as rows: where, what was checked, and the lines that go and come."""

from __future__ import annotations

from difflib import SequenceMatcher

from explainer.diagnosis import Edit, Fix
from explainer.locale import word
from explainer.render.prose import wrap
from explainer.render.snippet import Lens
from explainer.render.theme import Row
from explainer.render.visible import cells, cut_front, expand, one_line, padded, window

#: The cell at which `checked:` starts, and where prose starts after the word at the left edge.
CHECKED_AT = 21
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
    rows = [((line, "prose"),) for line in wrap(fix.title, width - indent)] if titled and fix.checked else []
    rows += _place_and_check(fix, language, indent, width)
    shown = 0
    for index, edit in enumerate(fix.edits):
        if index and shown < diff_lines:
            rows.append(((place_of(edit), "place"),))
        lines = diff(edit)
        rows += [_diff_row(*line, lines, lens.width - indent) for line in lines[: max(diff_lines - shown, 0)]]
        shown += len(lines)
    if shown > diff_lines:
        rows.append(((word("more_lines", language, count=shown - diff_lines), "quiet"),))
    return rows


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
        rows.append(((" " * at, ""), (head, role), (line[len(head):], "prose")))
    return rows


def _place_and_check(fix: Fix, language: str, indent: int, width: int) -> list[Row]:
    """`net.py:12      checked: ...`, on two rows where the file's name is long."""
    where, at = place_of(fix.edits[0]), CHECKED_AT - indent
    rows = _said(*certainty(fix, language), fix.certainty, at, width - indent)
    if rows and cells(where) <= at - 2:
        return [((padded(where, at), "place"), *rows[0][1:]), *rows[1:]]
    return [((cut_front(where, width - indent), "place"),), *rows]


def place_of(edit: Edit) -> str:
    """`net.py:12`."""
    return f"{one_line(edit.file)}:{edit.start_line}"


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


def _diff_row(sign: str, text: str, lines: list[tuple[str, str]], width: int) -> Row:
    """One line of the diff; where it is too wide its indent is left out, then all but the part that differs."""
    shown, starts = expand(text)
    if cells(shown) > width - 2:
        indent = min(len(line) - len(line.lstrip()) for _, line in lines if line.strip())
        shown, starts = expand(text[indent:])
        first, last = _differing(text[indent:], [line[indent:] for other, line in lines if other != sign], starts)
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
