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
        found = next(_keepers(source, name), None)
        if found is None:
            continue
        statement, value = found
        plain = _plain(source, value, "item()" if held.get("number", True) else "detach()")
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


def _plain(source: Source, value: ast.expr, method: str) -> str:
    text = source.text(value)
    return f"{text if isinstance(value, (ast.Name, ast.Attribute, ast.Call)) else f'({text})'}.{method}"


def _keepers(source: Source, name: str) -> Iterator[tuple[ast.stmt, ast.expr]]:
    """`name.append(loss)`, `name += loss`, `name = name + loss`: the statement and what it keeps."""
    for node in source.nodes():
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and source.text(node.target) == name:
            yield node, node.value
        elif (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Call)
            and called(node.value) == "append"
            and len(node.value.args) == 1
        ):
            if source.text(node.value.func) == f"{name}.append" and isinstance(
                node.value.args[0], (ast.Name, ast.Attribute, ast.Call)
            ):
                yield node, node.value.args[0]
        elif (
            (
                isinstance(node, ast.Assign)
                and source.text(node.targets[0]) == name
                and isinstance(node.value, ast.BinOp)
            )
            and isinstance(node.value.op, ast.Add)
            and source.text(node.value.left) == name
        ):
            yield node, node.value.right
