"""The edit that averages the floating-point entries of a state dict alone, and copies those that count."""

from __future__ import annotations

import ast

from explainer.diagnosis import Edit
from explainer.edits.kinds.inplace import block_of, index_in
from explainer.edits.lines import EditError, in_block, indentation, joined, relined
from explainer.edits.place import Place
from explainer.source import Source, walked


def float_only(at: Place, value: str, other: str = "") -> tuple[Edit, ...]:
    """`v.mul_(d).add_(s[k])` -> `if v.is_floating_point(): ...`, with `else: v.copy_(s[k])` where `other` is given.

    Statements that follow and use the same entry go into the block too, and others of the function that write to it
    into blocks of their own.
    """
    parts = using(at, value)
    groups = [_guarded(at, parts, value, other)]
    function = at.source.scope_at(parts[0].lineno)
    for one in walked(function):
        if isinstance(one, ast.stmt) and _writes(at.source, one, value) and not _inside(one, parts):
            groups.append(_guarded(at, [one], value, ""))
    return joined(at.source, *groups)


def _guarded(at: Place, parts: list[ast.stmt], value: str, other: str) -> tuple[Edit, ...]:
    first, last = parts[0].lineno, parts[-1].end_lineno or parts[-1].lineno
    text = in_block(at.source, f"if {value}.is_floating_point():", first, last)
    if other:
        indent = indentation(at.source, first)
        text += f"\n{indent}else:\n{indent}    {_copied(at.source, parts, value, other)}"
    return relined(at.source, first, last, text)


def _writes(source: Source, statement: ast.stmt, value: str) -> bool:
    """Whether a statement does no more than write into a value."""
    if isinstance(statement, ast.AugAssign):
        return source.text(statement.target) == value
    call = statement.value if isinstance(statement, ast.Expr) else None
    while isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr.endswith("_"):
        call = call.func.value
    return call is not None and source.text(call) == value


def _inside(statement: ast.stmt, parts: list[ast.stmt]) -> bool:
    return any(part.lineno <= statement.lineno <= (part.end_lineno or 0) for part in parts)


def using(at: Place, value: str) -> list[ast.stmt]:
    """The statement that holds a place, and those right behind it in its block that use the same value."""
    body = block_of(at)
    first = index_in(body, at)
    parts = [body[first]]
    for one in body[first + 1 :]:
        if not _uses(at.source, one, value):
            break
        parts.append(one)
    return parts


def _uses(source: Source, statement: ast.stmt, value: str) -> bool:
    return any(isinstance(one, ast.expr) and source.text(one) == value for one in walked(statement))


def _copied(source: Source, parts: list[ast.stmt], value: str, other: str) -> str:
    """The copy in the words of the statement: `t = s[k]` for one that binds, `v.copy_(s[k])` for one that writes."""
    only = parts[0]
    if isinstance(only, (ast.Return, ast.If, ast.For, ast.While, ast.With)) or (len(parts) > 1 and _binds(only)):
        raise EditError("the statement does more than write the entry")
    if isinstance(only, ast.Assign):
        return f"{source.text(only.targets[0])} = {other}"
    return f"{value}.copy_({other})"


def _binds(statement: ast.stmt) -> bool:
    return isinstance(statement, (ast.Assign, ast.AnnAssign))
