"""Which expressions cut a part out of a table that other parts are cut out of too: columns, entries, unbound rows."""

from __future__ import annotations

import ast

from explainer.source import Source, called, walked

_SHARING = ("unbind", "split", "chunk", "tensor_split", "hsplit")


def is_column(source: Source, node: ast.AST) -> bool:
    """Whether an expression is one of several cuts of the same table in a function: `t[:, 0]` beside `t[:, 2]`."""
    if not _cuts(node):
        return False
    base, own = source.text(node.value), source.text(node.slice)  # type: ignore[attr-defined]
    others = [one for one in walked(source.scope_at(node.lineno)) if _cuts(one)]  # type: ignore[attr-defined]
    return any(source.text(one.value) == base and source.text(one.slice) != own for one in others)  # type: ignore[attr-defined]


def _cuts(node: ast.AST) -> bool:
    """`t[:, 0]`, `t[..., :2]`, `row[1]`, `batch["user"]`."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
        return False
    index = node.slice
    if isinstance(index, ast.Tuple) and len(index.elts) > 1:
        first, last = index.elts[0], index.elts[-1]
        whole = isinstance(first, ast.Slice) and first.lower is None and first.upper is None
        whole = whole or (isinstance(first, ast.Constant) and first.value is Ellipsis)
        return whole and not (isinstance(last, ast.Constant) and last.value is None)
    return isinstance(index, ast.Constant) and type(index.value) in (int, str)


def shares_out(node: ast.AST) -> bool:
    """Whether a call takes a table apart: `a, b, c = table.unbind(1)`."""
    return isinstance(node, ast.Call) and called(node) in _SHARING
