"""The expression of a line that a recorded operation was, by its name: Python 3.10 keeps no columns."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from explainer.edits.kinds.operators import SIGNS
from explainer.source import Node, Source, called

_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "truediv": "/", "true_divide": "/", "floordiv": "//",
    "floor_divide": "//", "mod": "%", "remainder": "%", "pow": "**", "matmul": "@", "and": "&", "or": "|", "xor": "^",
}  # fmt: skip
_COMPARED = {"gt": ast.Gt, "greater": ast.Gt, "lt": ast.Lt, "less": ast.Lt, "ge": ast.GtE, "le": ast.LtE,
             "eq": ast.Eq, "ne": ast.NotEq}  # fmt: skip


def operation_at(source: Source, line: int, names: Sequence[str]) -> Node | None:
    """The expression of a line's statement that is an operation of one of these names, the first that is there once.

    Where none is: its only call, which led there through a library.
    """
    statement = source.statement_at(line)
    parts = [statement] if statement is None or not hasattr(statement, "body") else list(_header(statement))
    nodes = [node for part in parts if part is not None for node in ast.walk(part) if isinstance(node, Node)]
    methods = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    for name in names:
        found = [node for node in nodes if id(node) not in methods and _is(node, name)]
        if len(found) == 1:
            return found[0]
    calls = [node for node in nodes if isinstance(node, ast.Call)] if names else []
    return calls[0] if len(calls) == 1 else None


def _header(statement: ast.stmt) -> Iterator[ast.AST]:
    """The parts of a compound statement that are no statements."""
    yield from (node for node in ast.iter_child_nodes(statement) if not isinstance(node, ast.stmt))


def _is(node: ast.AST, name: str) -> bool:
    plain = name.strip("_")
    if isinstance(node, ast.Call):
        return called(node).strip("_") == plain
    if isinstance(node, ast.Attribute):
        return node.attr == name
    if isinstance(node, (ast.BinOp, ast.AugAssign)):
        return SIGNS.get(type(node.op)) in (_OPERATORS.get(plain), _OPERATORS.get(plain[1:], ""))
    if isinstance(node, ast.Compare):
        return type(node.ops[0]) is _COMPARED.get(plain)
    if isinstance(node, ast.Subscript):
        return plain == ("getitem" if isinstance(node.ctx, ast.Load) else "setitem")
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and plain == "neg"
