"""Results as tables: what was right, by kind and by certainty."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

Row = dict[str, Any]
HEAD = (
    "",
    "crashes",
    "family",
    "line",
    "truth",
    "wrong",
    "silent",
    "proved",
    "right",
    "checked",
    "run",
    "first fix runs",
)


def table(results: Sequence[Row]) -> str:
    """A row a kind, in numbers of mutants that crashed as PyTorch does; percentages in the last row."""
    rows = [row for row in results if row["outcome"] == "torch"]
    kinds = sorted({row["kind"] for row in rows})
    lines = [HEAD, *((kind, *_counts([row for row in rows if row["kind"] == kind])) for kind in kinds)]
    lines.append(("all", *_counts(rows)))
    return "\n".join([*_aligned(lines), "", *certainties(rows)])


def certainties(rows: Sequence[Row]) -> Iterable[str]:
    """How often a line named was right, by certainty."""
    for word in ("proved", "likely", "possible"):
        named = [row for row in rows if row["certainty"] == word and row["culprit"]]
        right = _count(named, lambda row: row["right"] in ("truth", "also"))
        yield f"{word:9} {right} of {len(named)} lines right ({100 * right / max(len(named), 1):.1f} %)"


def _counts(rows: Sequence[Row]) -> tuple[int, ...]:
    proved = [row for row in rows if row["certainty"] == "proved" and row["culprit"]]
    checked = [row for row in rows if row["fix"] == "checked"]
    return (
        len(rows),
        _count(rows, lambda row: row["family_right"]),
        _count(rows, lambda row: row["right"] in ("truth", "also")),
        _count(rows, lambda row: row["right"] == "truth"),
        _count(rows, lambda row: row["right"] == "wrong"),
        _count(rows, lambda row: row["right"] == "none"),
        len(proved),
        _count(proved, lambda row: row["right"] in ("truth", "also")),
        len(checked),
        _count(checked, lambda row: row["fix_runs"]),
        _count(rows, lambda row: row["fix_runs"]),
    )


def _count(rows: Iterable[Row], holds: Callable[[Row], bool]) -> int:
    return sum(1 for row in rows if holds(row))


def _aligned(lines: Sequence[Sequence[Any]]) -> list[str]:
    widths = [max(len(str(line[column])) for line in lines) for column in range(len(lines[0]))]
    return [
        "  ".join(
            str(cell).ljust(width) if not column else str(cell).rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
