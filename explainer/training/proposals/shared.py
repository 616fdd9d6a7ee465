"""One layer that stands several times in a list of layers: its copies are one and the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import torch

from explainer.source import Source
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding
from explainer.training.looks.fits import learned_well
from explainer.training.sites import statement

_ROWS = (torch.nn.ModuleList, torch.nn.Sequential)


def shared_layers(watcher: Any) -> Iterator[Finding]:
    """`[Layer()] * n` in a list of layers: n names of one layer, where nothing was learned well."""
    if learned_well(watcher):
        return
    for row in watcher.notes.built.living():
        held = list(row.__dict__.get("_modules", {}).values()) if isinstance(row, _ROWS) else []
        kinds = {id(one): one for one in held if any(True for _ in one.parameters())}
        many = max((sum(one is each for each in held) for one in kinds.values()), default=0)
        site = watcher.notes.built.get(row)
        found = statement(site[0]) if site and many > 1 else None
        node = _repeated(found[1]) if found is not None else None
        if found is None or node is None:
            continue
        new = _each_made(found[0], node)
        layer = next(one for one in kinds.values() if sum(one is each for each in held) == many)
        names = {"text": found[0].text(node), "many": many, "kind": type(layer).__name__, "new": new}
        attempts = (Attempt("each", rewrite.replaced(found[0], node, new), {"new": new}),)
        yield Finding("layers-shared", names, found[0].span(node), attempts, proved=False, seen=True)


def _repeated(statement: ast.stmt) -> ast.BinOp | None:
    """`[value] * n` in a statement, of a value that a call makes."""
    for node in ast.walk(statement):
        row = node.left if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) else None
        if isinstance(row, ast.List) and len(row.elts) == 1 and isinstance(row.elts[0], ast.Call):
            return node  # type: ignore[return-value]
    return None


def _each_made(source: Source, node: ast.BinOp) -> str:
    """A list whose entries are made one by one."""
    assert isinstance(node.left, ast.List)
    return f"[{source.text(node.left.elts[0])} for _ in range({source.text(node.right)})]"
