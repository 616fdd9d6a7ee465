"""A fix of a notebook's cell as the text of a new cell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

_CELL = re.compile(r"Cell In\[(\d+)\]")


def of_cells(explanation: Any) -> Any:
    """An explanation in which a cell that would have to run from the start is called one: it is no script."""
    return replace(explanation, reports=tuple(map(_of_cells, explanation.reports)))


def _of_cells(report: Any) -> Any:
    if not any(_CELL.fullmatch(frame.file) for frame in report.frames):
        return report
    told = (replace(one, untried="cells") if one.untried == "whole" else one for one in report.diagnoses)
    return replace(report, diagnoses=tuple(told))


def edited(explanation: Any, shell: Any) -> str | None:
    """The text of the cell that the last fix edits, with its edits; None where it edits files, or nothing."""
    return of_edits(fixing(explanation), shell)


def of_edits(edits: Sequence[Any], shell: Any) -> str | None:
    """The text of the cell that some edits are of, with them made; None where they are of files, or none."""
    numbers = {match.group(1) if (match := _CELL.fullmatch(edit.file)) else None for edit in edits}
    if len(numbers) != 1 or None in numbers:
        return None
    number = int(next(iter(numbers)) or 0)
    for history in ("input_hist_raw", "input_hist_parsed"):
        lines = _lines(shell, history, number)
        if lines and all(_fits(edit, lines) for edit in edits):
            return "\n".join(_changed(lines, edits))
    return None


def why_not(explanation: Any) -> str:
    """What to say where no cell can be put."""
    edits = fixing(explanation)
    if not edits:
        return "there is no fix to put into a cell yet"
    return f"the last fix edits {edits[0].file}: `!explain fix` shows it, `!explain fix --apply --yes` carries it out"


def fixing(explanation: Any) -> Sequence[Any]:
    """The edits of the first fix that has any, a checked one before others."""
    reports = explanation.reports if explanation is not None else ()
    fixes = [fix for report in reports for one in report.diagnoses for fix in one.fixes if fix.edits]
    fixes.sort(key=lambda fix: fix.certainty != "checked")
    return fixes[0].edits if fixes else ()


def _lines(shell: Any, history: str, number: int) -> list[str]:
    cells = getattr(shell.history_manager, history, [])
    return cells[number].rstrip("\n").split("\n") if number < len(cells) else []


def _fits(edit: Any, lines: list[str]) -> bool:
    """Whether a cell still reads as it did where an edit is to be made."""
    return edit.before is None or "\n".join(lines[edit.start_line - 1 : edit.end_line]) == edit.before.rstrip("\n")


def _changed(lines: list[str], edits: Sequence[Any]) -> list[str]:
    for edit in sorted(edits, key=lambda one: -one.start_line):
        after = [] if edit.after is None else edit.after.removesuffix("\n").split("\n")
        lines[edit.start_line - 1 : edit.end_line] = after
    return lines
