"""Inputs that are put in a random order while what belongs to them stays in the old one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.source import Source, called
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.sources import program_sources

_DRAWS = ("randperm", "permutation")


@finder
def shuffled_alone(watcher: Any) -> Iterator[Finding]:
    """`x = x[order]` without `y = y[order]`, where rows of both are taken side by side."""
    for source in program_sources(watcher):
        drawn = {name: value for name, value in _assigned(source) if _draws(value)}
        orders = [(node, _order(node, drawn)) for node in source.nodes() if isinstance(node, ast.Assign)]
        shuffled = {_name(node): (node, order) for node, order in orders if order is not None}
        for name, (node, order) in shuffled.items():
            partners = {one for one in _beside(source, name, node.lineno) if one not in shuffled}
            if len(partners) != 1:
                continue
            other = partners.pop()
            call = drawn.get(source.text(order), order)
            names = {"one": name, "other": other, "line": node.lineno, "call": called(call)}
            edits = _also(source, node, order, other)
            attempts = (Attempt("one-order", edits, {"one": name, "other": other}),)
            yield Finding("labels-shuffled", names, source.span(node), attempts, proved=False, seen=True, weight=8)


def _assigned(source: Source) -> Iterator[tuple[str, ast.expr]]:
    for node in source.nodes():
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value


def _draws(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and called(node) in _DRAWS


def _name(node: ast.Assign) -> str:
    return node.targets[0].id if isinstance(node.targets[0], ast.Name) else ""


def _order(node: ast.Assign, drawn: dict[str, ast.expr]) -> Any:
    """The order in `x = x[order]`, a name that was drawn or the draw itself."""
    value = node.value
    if not isinstance(value, ast.Subscript) or not isinstance(value.value, ast.Name) or value.value.id != _name(node):
        return None
    index = value.slice
    known = (isinstance(index, ast.Name) and index.id in drawn) or _draws(index)
    return index if known else None


def _beside(source: Source, name: str, line: int) -> Iterator[str]:
    """The names whose rows are taken together with those of a name, further down."""
    for node in source.nodes():
        if getattr(node, "lineno", 0) <= line:
            continue
        if isinstance(node, ast.Call) and called(node) in ("TensorDataset", "zip"):
            given = [one.id for one in node.args if isinstance(one, ast.Name)]
            if name in given and len(given) == 2:
                yield from (one for one in given if one != name)
        elif isinstance(node, (ast.Assign, ast.Expr, ast.Return)):
            taken = [
                (one.value.id, source.text(one.slice))
                for one in ast.walk(node)
                if isinstance(one, ast.Subscript) and isinstance(one.value, ast.Name)
            ]
            slices = {text for held, text in taken if held == name}
            yield from (held for held, text in taken if held != name and text in slices)


def _also(source: Source, node: ast.Assign, order: ast.AST, other: str) -> Any:
    if isinstance(order, ast.Name):
        return rewrite.after(source, node, f"{other} = {other}[{order.id}]")
    return rewrite.together(
        source,
        rewrite.before(source, node, f"order = {source.text(order)}"),
        rewrite.replaced(source, order, "order"),
        rewrite.after(source, node, f"{other} = {other}[order]"),
    )
