"""What gives names their values in a function: assignments, loops, and the calls that fill a list or a dict."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from explainer.bindings import KEEPING, targets_of
from explainer.edits.place import Place
from explainer.source import walked

_BINDING = (ast.Assign, ast.AnnAssign, ast.AugAssign)
Given = tuple[set[str], ast.expr]


def given_above(place: Place, line: int) -> list[Given]:
    """The names that statements of a function, or a file, give values above a line, with these; the nearest first."""
    scope = place.source.scope_at(line)
    found = [one for one in within(scope) if getattr(one, "lineno", line) < line] if scope else []
    return _given(sorted(found, key=lambda one: -getattr(one, "lineno", 0)), (*_BINDING, ast.For, ast.Expr))


def given_behind(place: Place, line: int) -> list[Given]:
    """The names that get values for the next turn of the loops around a line, below it."""
    loop, found = place.source.parent_of(place.node), []
    while loop is not None and not isinstance(loop, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        if isinstance(loop, (ast.For, ast.While)):
            found += [one for one in within(loop) if getattr(one, "lineno", 0) >= line]
        loop = place.source.parent_of(loop)
    return _given(dict.fromkeys(found), (ast.Assign, ast.AugAssign))


def within(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function or file, without those of the functions and classes in it."""
    for node in ast.iter_child_nodes(scope):
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield from within(node)


def _given(statements: Iterable[ast.AST], kinds: tuple[type, ...]) -> list[Given]:
    rows = ((_names(one), _value(one)) for one in statements if isinstance(one, kinds))
    return [(names, value) for names, value in rows if value is not None]


def _value(node: ast.AST) -> ast.expr | None:
    if isinstance(node, ast.Expr):
        return node.value.args[-1] if isinstance(node.value, ast.Call) and _filled(node.value) else None
    return getattr(node, "value", None) or getattr(node, "iter", None)


def _filled(call: ast.Call) -> str:
    """The name of the container that a call fills; empty where it fills none."""
    func = call.func
    keeps = isinstance(func, ast.Attribute) and func.attr in KEEPING and call.args
    return func.value.id if keeps and isinstance(func.value, ast.Name) else ""  # type: ignore[union-attr,attr-defined]


def _names(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Expr):
        return {_filled(node.value)} if isinstance(node.value, ast.Call) else set()
    parts = [one for target in targets_of(node) for one in walked(target)]
    filled = {one.value.id for one in parts if isinstance(one, ast.Subscript) and isinstance(one.value, ast.Name)}
    return filled | {one.id for one in parts if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
