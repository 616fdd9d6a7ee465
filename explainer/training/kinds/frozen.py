"""Layers that an optimizer is given and that the program has frozen before they learned anything."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.source import Source, called
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.kinds.optimizers import name_of
from explainer.training.sources import program_sources


@finder
def frozen_for_ever(watcher: Any) -> Iterator[Finding]:
    """Parameters with random weights that an optimizer holds and that never get a gradient, since they are frozen."""
    entries = [
        one
        for one in watcher.weights.values()
        if one["frozen"] and one["held"] and one["looked"] >= 4 and not one["moved"] and not one["gone"]
    ]
    entries = [one for one in entries if id(one["of"]()) not in watcher.pretrained and one["of"]()._version <= 2]
    if not entries:
        return
    attempts = []
    for source in program_sources(watcher):
        for node in _freezes(source):
            edits = rewrite.without(source, node)
            if edits:
                text = source.text(node).split("\n")[0]
                attempts.append(Attempt("train", edits, {"text": text}, culprit=source.span(node)))
    if attempts:
        root = entries[0]["root"]()
        names = {
            "missing": ", ".join(dict.fromkeys(one["name"] for one in entries[:3])),
            "many": len(entries),
            "root": type(root).__name__,
            "optimizer": name_of(watcher.notes.optimizers[entries[0]["optimizer"]]),
        }
        yield Finding("frozen-for-ever", names, attempts[0].culprit, tuple(attempts), proved=False, seen=True, weight=6)


def _freezes(source: Source) -> Iterator[ast.stmt]:
    """`p.requires_grad = False`, `layer.requires_grad_(False)`, alone or as all that a loop does."""
    for node in source.nodes():
        if isinstance(node, ast.For):
            found = len(node.body) == 1 and _freezing(node.body[0])
        else:
            found = isinstance(node, ast.stmt) and _freezing(node) and not _only_in_loop(source, node)
        if found:
            yield node  # type: ignore[misc]


def _freezing(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value is False:
        return any(isinstance(one, ast.Attribute) and one.attr == "requires_grad" for one in node.targets)
    call = node.value if isinstance(node, ast.Expr) else None
    return (
        isinstance(call, ast.Call)
        and called(call) == "requires_grad_"
        and any(isinstance(one, ast.Constant) and one.value is False for one in call.args)
    )


def _only_in_loop(source: Source, node: ast.stmt) -> bool:
    found = rewrite.block_of(source, node)
    return found is not None and isinstance(found[1], ast.For) and len(found[0]) == 1
