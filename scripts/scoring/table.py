"""Rows of scores as tables: a row a program, totals by group, and what got better or worse."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any

Row = Mapping[str, Any]
MARKS = ("line", "fixed", "kept")


def programs(rows: Sequence[Row]) -> str:
    """A row a program."""
    head = ("program", "line", "how sure", "fix", "goal", "source of the first fix", "made/filtered/tried", "seconds")
    return aligned([head, *(_program(row) for row in rows)])


def _program(row: Row) -> tuple[str, ...]:
    source = f"{row['source']} {row['at']}".strip()
    counts = f"{row['made']}/{row['filtered']}/{row['tried']}"
    goal = "-" if not row["fix"] else "yes" if row["fixed"] and row["kept"] else "other" if row["fixed"] else "no"
    return row["name"], row["line"], row["certainty"], row["fix"], goal, source, counts, f"{row['seconds']:.1f}"


def totals(rows: Sequence[Row], by: str = "group") -> str:
    """Totals by group and of all, in percent of the programs that crashed."""
    groups = sorted({row[by] for row in rows})
    head = (
        "",
        "programs",
        "line",
        "wrong",
        "fix",
        "kept",
        "same",
        "no fix",
        "family",
        "said",
        "candidates",
        "tried",
        "s",
    )
    of_groups = [(name, *_totals([row for row in rows if row[by] == name])) for name in groups]
    return aligned([head, *of_groups, ("all", *_totals(rows))])


def _totals(rows: Sequence[Row]) -> tuple[str, ...]:
    share = lambda holds: f"{100 * sum(map(holds, rows)) / max(len(rows), 1):.0f}"  # noqa: E731
    tests: tuple[Callable[[Row], bool], ...] = (
        lambda row: row["line"] == "right",
        lambda row: row["line"] == "wrong",
        lambda row: row["fixed"],
        lambda row: row["kept"],
        lambda row: row.get("same", False),
        lambda row: not row["fix"],
        lambda row: row["family"],
        lambda row: row["said"],
    )
    middle = [f"{median([row[name] for row in rows] or [0]):.3g}" for name in ("made", "tried", "seconds")]
    return str(len(rows)), *map(share, tests), *middle


def certainties(rows: Sequence[Row]) -> str:
    """How often what is said surely is right: lines by certainty, first fixes by theirs."""
    lines = []
    for word in ("proved", "likely", "possible"):
        named = [row for row in rows if row["certainty"] == word and row["line"] != "none"]
        lines.append((word, len(named), f"a right line in {sum(row['line'] == 'right' for row in named)}"))
    checked = [row for row in rows if row["fix"] == "checked"]
    good = sum(row["fixed"] and row["kept"] for row in checked)
    lines.append(("checked", len(checked), f"reaches the goal in {good}"))
    named = [row for row in rows if row["line"] != "none"]
    lines.append(("named", len(named), f"a wrong line in {sum(row['line'] == 'wrong' for row in named)}"))
    return aligned(lines)


def compared(rows: Iterable[Row], earlier: Iterable[Row]) -> str:
    """Which programs got better or worse in line, fix or parameters than they were."""
    before = {row["name"]: row for row in earlier}
    pairs = [(before[row["name"]], row) for row in rows if row["name"] in before]
    found = [_change(old, new, mark) for old, new in pairs for mark in MARKS if _good(old, mark) != _good(new, mark)]
    return aligned(sorted(found)) if found else "no program better or worse"


def _change(old: Row, new: Row, mark: str) -> tuple[str, ...]:
    verdict = "better" if _good(new, mark) else "WORSE"
    return verdict, new["name"], f"{mark}: {old[mark]} -> {new[mark]}", f"{old['source']} -> {new['source']}"


def _good(row: Row, mark: str) -> bool:
    return bool(row[mark] == "right" if mark == "line" else row[mark])


def aligned(lines: Sequence[Sequence[Any]]) -> str:
    """Cells in columns; numbers to the right."""
    widths = [max(len(str(cell)) for cell in column) for column in zip(*lines, strict=True)]
    rows = (zip(line, widths, strict=True) for line in lines)
    right = lambda cell: str(cell).replace(".", "", 1).isdigit()  # noqa: E731
    cells = lambda row: (str(c).rjust(w) if right(c) else str(c).ljust(w) for c, w in row)  # noqa: E731
    return "\n".join("  ".join(cells(row)).rstrip() for row in rows)
