"""The edit of a product of all rows of which some are taken later: the rows are taken first."""

from __future__ import annotations

import ast
from typing import Any

from explainer.diagnosis import Edit, Span
from explainer.edits.kinds.inplace import dropped
from explainer.edits.lines import EditError, changed, joined
from explainer.edits.place import Place


def take_rows_first(at: Place, to: str, each: tuple[Place, ...] = (), name: str = "") -> tuple[Edit, ...]:
    """`s = a @ b` and later `s = s[i]` -> `s = a[i] @ b`: the product as `to`, the later selections taken away.

    A selection is an expression, for which `name` is read, or the statement that only binds it to that name again.
    """
    changes: list[tuple[Span, str]] = [(at.span, to)]
    gone: list[Edit] = []
    for one in each:
        if one.source is not at.source:
            raise EditError("the selection stands in another file")
        whole = one.statement().node
        if isinstance(whole, ast.Assign) and whole.value is one.node and at.source.text(whole.targets[0]) == name:
            gone.append(dropped(at, whole))
        else:
            changes.append((one.span, name))
    return joined(at.source, changed(at.source, changes), gone)


def index_of(node: Any) -> ast.expr | None:
    """What picks rows: `i` of `s[i]`, `s[i, :]` and `s.index_select(0, i)`."""
    if isinstance(node, ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        plain = all(isinstance(one, ast.Slice) and ast.unparse(one) == ":" for one in parts[1:])
        return parts[0] if plain and parts else None
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "index_select" and len(node.args) == 2:
        first = node.args[0]
        return node.args[1] if isinstance(first, ast.Constant) and first.value == 0 else None
    return None


def selected(node: Any) -> ast.expr | None:
    """What rows are picked from: `s` of `s[i]` and `s.index_select(0, i)`; None of another expression."""
    if index_of(node) is None:
        return None
    found: ast.expr = node.value if isinstance(node, ast.Subscript) else node.func.value
    return found
