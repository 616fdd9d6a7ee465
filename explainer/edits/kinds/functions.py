"""Edits of custom autograd Functions: a gradient given its input's shape."""

from __future__ import annotations

import ast

from explainer.diagnosis import Edit
from explainer.edits.kinds.arguments import replace
from explainer.edits.kinds.statements import insert_statement
from explainer.edits.lines import EditError, changed, joined
from explainer.edits.place import Place
from explainer.source import called


def shape_gradient(at: Place, to: str, kept: Place | None = None, keep: str = "") -> tuple[Edit, ...]:
    """Another expression for a gradient; `keep` is put before the place `kept` of forward where backward needs it."""
    new = replace(at, to)
    return joined(at.source, insert_statement(keep, before=kept), new) if kept is not None and keep else new


def sum_over(at: Place, dims: str) -> tuple[Edit, ...]:
    """`g.sum(1)` -> `g.sum(dim=0)`: the last call of a gradient's expression reduces other dimensions."""
    node = at.node
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and called(node) in ("sum", "mean")):
        raise EditError("nothing is summed here")
    kept = [at.source.text(word) for word in node.keywords if word.arg not in ("dim", "axis")]
    text = f"{at.source.text(node.func)}({', '.join([f'dim={dims}', *kept])})"
    return changed(at.source, [(at.span, text)])
