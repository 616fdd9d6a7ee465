"""Where a value comes from and goes to, as far as names tell: the lines at which a dropped step can be put back."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutations.mutant import Place
from mutations.programs import Program, Source

Scope = ast.FunctionDef | ast.Module


def scope(node: ast.AST) -> Scope:
    """The innermost function around a node, or the module."""
    while not isinstance(node, (ast.FunctionDef, ast.Module)):
        node = node.parent  # type: ignore[attr-defined]
    return node


def statement(node: ast.AST) -> ast.stmt:
    """The innermost statement around a node."""
    while not isinstance(node, ast.stmt):
        node = node.parent  # type: ignore[attr-defined]
    return node


def chain(program: Program, source: Source, node: ast.AST) -> frozenset[Place]:
    """The lines next to a value's own: where the names in it were last set, where its result is used first."""
    own, around = statement(node), scope(node)
    read = {text for one in ast.walk(node) if (text := _name(one, ast.Load))}
    written = {text for one in ast.walk(own) if (text := _name(one, ast.Store))}
    lines = {own.lineno}
    for name in read:
        lines |= set(list(_lines(around, name, ast.Store, before=own.lineno))[-1:])
    for name in written:
        lines |= set(list(_lines(around, name, ast.Load, after=own.end_lineno))[:1])
    found = {(source.name, line) for line in lines}
    for name in written:
        if name.startswith("self."):
            found |= set(_anywhere(source, name))
    if isinstance(own, ast.Expr) and (kept := _container(own.value)):
        found |= {(source.name, line) for line in _lines(around, kept, ast.Load, after=own.end_lineno or 0)}
    if isinstance(own, ast.Return) and isinstance(around, ast.FunctionDef):
        found |= set(_calls(program, around.name))
    return frozenset(found)


def losses(program: Program) -> frozenset[Place]:
    """The lines that set a loss or go backward from one: a loss of many numbers can be reduced at any of them."""
    found = set()
    for source in program.sources:
        for node in ast.walk(source.tree):
            sets = isinstance(node, ast.Assign) and "loss" in source.code(node.targets[0])
            if sets or (isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "backward"):
                found.add((source.name, node.lineno))  # type: ignore[attr-defined]
    return frozenset(found)


def _container(node: ast.expr) -> str | None:
    """`kept` in `kept.append(...)`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
        return _name(node.func.value, ast.Load)
    return None


def _name(node: ast.AST, context: type) -> str | None:
    if isinstance(node, ast.Name) and isinstance(node.ctx, context):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, context) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return None


def _lines(around: Scope, name: str, context: type, before: int = 10**9, after: int = 0) -> Iterator[int]:
    return (line for line in _index(around).get((name, context), ()) if after < line < before)


def _index(around: Scope) -> dict[tuple[str, type], list[int]]:
    """The lines at which each name is read and set in a scope, kept on its node: every change asks."""
    if not hasattr(around, "names"):
        found: dict[tuple[str, type], set[int]] = {}
        for one in ast.walk(around):
            if isinstance(one, (ast.Name, ast.Attribute)) and scope(one) is around:
                name, context = _name(one, type(one.ctx)), type(one.ctx)
                line = statement(one).lineno if context is ast.Store else one.lineno
                found.setdefault((name or "", context), set()).add(line)
        around.names = {key: sorted(lines) for key, lines in found.items()}  # type: ignore[union-attr]
    return around.names  # type: ignore[union-attr,no-any-return]


def _anywhere(source: Source, name: str) -> Iterator[Place]:
    for one in source.nodes:
        if _name(one, ast.Load) == name:
            yield source.name, one.lineno


def _calls(program: Program, name: str) -> Iterator[Place]:
    for source in program.sources:
        for one in source.nodes:
            if isinstance(one, ast.Call) and name == getattr(one.func, "id", getattr(one.func, "attr", None)):
                yield source.name, one.lineno
