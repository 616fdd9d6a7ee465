"""Data brought to scale by statistics of their own, where those of what the model learned from are meant."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from explainer.source import Source, called
from explainer.training.search.offer import Offer, replacing

#: Methods that say where values lie and how far they spread.
_STATISTICS = ("mean", "std", "var", "min", "max", "amin", "amax", "median", "quantile")


def of_first(source: Source) -> Iterator[Offer]:
    """`(test - train.mean()) / train.std()` for a second `standardize(test)`, which takes the mean of what it gets."""
    for function in source.nodes():
        value = _scales(function)
        if value is None or not isinstance(function, ast.FunctionDef):
            continue
        given = [one for one in source.nodes() if isinstance(one, ast.Call) and source.text(one.func) == function.name
                 and len(one.args) == 1 and not one.keywords and isinstance(one.args[0], ast.Name)]  # fmt: skip
        given.sort(key=lambda one: (one.lineno, one.col_offset))
        for call in given[1:]:
            first, own = given[0].args[0].id, call.args[0].id  # type: ignore[attr-defined]
            if first != own:
                text = _inlined(value, function.args.args[0].arg, own, first)
                yield replace(replacing(source, call, f"({text})", 0.4), reason="own-statistics", about=function.name)


def _scales(function: ast.AST) -> ast.expr | None:
    """What a function of one value returns that holds statistics of it, and does nothing else."""
    rows = function.body if isinstance(function, ast.FunctionDef) and len(function.args.args) == 1 else []
    rows = [one for one in rows if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
    value = rows[0].value if len(rows) == 1 and isinstance(rows[0], ast.Return) else None
    asked = [one for one in ast.walk(value) if _is_statistic(one)] if value is not None else []
    return value if asked else None


def _is_statistic(node: ast.AST) -> bool:
    owner = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    return isinstance(owner, ast.Name) and called(node) in _STATISTICS  # type: ignore[arg-type]


def _inlined(value: ast.expr, name: str, own: str, first: str) -> str:
    """An expression for one value, with the statistics of another."""

    class Named(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.AST:
            if _is_statistic(node) and node.func.value.id == name:  # type: ignore[attr-defined]
                return ast.parse(ast.unparse(node).replace(name, first, 1), mode="eval").body
            return self.generic_visit(node)

        def visit_Name(self, node: ast.Name) -> ast.AST:
            return ast.Name(own if node.id == name else node.id)

    return ast.unparse(Named().visit(ast.parse(ast.unparse(value), mode="eval").body))
