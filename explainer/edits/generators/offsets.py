"""Candidates for offsets of parts that lie one behind another: each part begins where those before it end."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from explainer.edits.place import Place, as_operand, fitted
from explainer.source import called


def starts_of(place: Place) -> str:
    """Where parts of some sizes begin, in place of where they end; "" for another call, or one that begins with 0."""
    node = place.node
    if not isinstance(node, ast.Call) or _begins_with_zero(place):
        return ""
    name = called(node)
    if name == "list" and len(node.args) == 1 and isinstance(node.args[0], ast.Call):
        inner = node.args[0]
        plain = called(inner) == "accumulate" and len(inner.args) == 1
        return f"[0] + {place.text}[:-1]" if plain and not inner.keywords else ""
    if name != "cumsum" or not isinstance(node.func, ast.Attribute):
        return ""
    library = place.source.text(node.func.value)
    given = node.args[0] if library in ("np", "numpy", "torch") and node.args else node.func.value
    text = place.source.text(given)
    return fitted(place, f"{place.text} - {as_operand(text)}")


def _begins_with_zero(place: Place) -> bool:
    """Whether a 0 was put before the sizes or the sums, or one is taken off their end."""
    outer = place.parent()
    put = isinstance(outer, (ast.BinOp, ast.Subscript, ast.Starred, ast.List, ast.Tuple))
    return put or "0]" in place.text.replace(" ", "") or "(0," in place.text.replace(" ", "")


def noted_late(nodes: Iterable[ast.AST]) -> Iterator[tuple[ast.stmt, ast.stmt]]:
    """`total += size` right before `starts.append(total)`."""
    for node in nodes:
        body = getattr(node, "body", None) if isinstance(node, ast.For) else None
        for first, second in zip(body or (), (body or [])[1:], strict=False):
            if isinstance(first, ast.AugAssign) and isinstance(first.op, ast.Add) and isinstance(second, ast.Expr):
                call = second.value
                noted = isinstance(call, ast.Call) and called(call) == "append" and len(call.args) == 1
                if noted and ast.unparse(call.args[0]) == ast.unparse(first.target):  # type: ignore[attr-defined]
                    yield first, second
