"""Positions on Python 3.10, whose code keeps lines but no columns: a program is compiled with its nodes numbered."""

from __future__ import annotations

import ast
import sys
import types
from typing import Any

NEEDED = sys.version_info < (3, 11)
Bounds = tuple[int, int, int, int]

#: By file, the bounds of each node (line, last line, first and last byte column) at its number less one.
_nodes: dict[str, list[Bounds]] = {}


def number(tree: ast.AST, path: str) -> None:
    """Put each node's number where its lines were; instructions of the compiled tree then tell their nodes."""
    rows = _nodes[path] = []
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            place: Any = node
            rows.append((place.lineno, place.end_lineno, place.col_offset, place.end_col_offset))
            place.lineno = place.end_lineno = len(rows)
    for node in ast.walk(tree):  # the compiler gives a method's call the last line of `owner.method`
        if isinstance(node, ast.Call):
            node.func.end_lineno = node.lineno


def bounds(code: types.CodeType, lasti: int) -> Bounds | None:
    """The bounds of the node that an instruction belongs to; None where its file was not numbered."""
    at = next((line for start, end, line in code.co_lines() if start <= lasti < end), None)
    rows = _nodes.get(code.co_filename)
    return rows[at - 1] if rows is not None and at and at <= len(rows) else None


def line(path: str, number: int) -> int:
    """The true line of a frame in a traceback."""
    rows = _nodes.get(path)
    return rows[number - 1][0] if rows is not None and 0 < number <= len(rows) else number
