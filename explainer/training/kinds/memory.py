"""Memory that grows with every step: losses that are kept with the graphs that made them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.source import Source, called, source_of
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder


@finder
def kept_graphs(watcher: Any) -> Iterator[Finding]:
    """Losses that are kept as tensors, in a list or in a sum."""
    for name, held in watcher.kept.items():
        source = source_of(held["file"])
        kept = [one for one in keepers(source) if one[1] == name]
        kept.sort(key=lambda one: _function(source, one[0]) != held["function"])  # others may call something else so
        if not kept:
            continue
        statement, _, value = kept[0]
        plain = f"{rewrite.operand(source, value)}.{'item' if held.get('number', True) else 'detach'}()"
        edits = rewrite.replaced(source, value, plain)
        names = {
            "name": name,
            "count": held["count"],
            "kind": held["kind"],
            "value": source.text(value),
            "number": held.get("number", True),
            "steps": watcher.notes.steps,
        }
        yield Finding(
            "graph-kept-across-steps",
            names,
            source.span(statement),
            (Attempt("item", edits, {"text": plain}),),
            weight=6,
        )


def _function(source: Source, statement: ast.stmt) -> str:
    return getattr(source.function_at(statement.lineno), "name", "<module>")


def keepers(source: Source) -> Iterator[tuple[ast.stmt, str, ast.expr]]:
    """`name.append(loss)`, `name += loss`, `name = name + loss`: the statement, the name and what it keeps."""
    for node in source.nodes():
        value = node.value if isinstance(node, (ast.Expr, ast.Assign)) else None
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
            yield node, source.text(node.target), node.value
        elif isinstance(node, ast.Expr) and isinstance(value, ast.Call) and called(value) == "append":
            if len(value.args) == 1 and isinstance(value.args[0], (ast.Name, ast.Attribute, ast.Call)):
                yield node, source.text(value.func).removesuffix(".append"), value.args[0]
        elif isinstance(node, ast.Assign) and isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            name = source.text(node.targets[0])
            if source.text(value.left) == name:
                yield node, name, value.right
