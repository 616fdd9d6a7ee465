"""The edit that leaves a sparse tensor sparse, where its dense form is only summed or multiplied."""

from __future__ import annotations

import ast

from explainer.diagnosis import Edit, Span
from explainer.edits.lines import EditError, changed
from explainer.edits.place import Place
from explainer.source import Node, called, walked

_PRODUCTS = ("mm", "matmul")


def keep_sparse(at: Place) -> tuple[Edit, ...]:
    """`d = g.to_dense()`, read as `d.sum(1)` and `d @ x` -> `d = g`, `torch.sparse.sum(d, 1).to_dense()`, `d @ x`.

    `return g.to_dense()` -> `return g`: what callers do with it only a run of the program shows.
    """
    call, statement = at.node, at.statement().node
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or called(call) != "to_dense":
        raise EditError("nothing is made dense here")
    sparse = at.source.text(call.func.value)
    if isinstance(statement, ast.Return) and statement.value is call:
        return changed(at.source, [(at.span, sparse)])
    if not isinstance(statement, ast.Assign) or statement.value is not call:
        return changed(at.source, _used(at, call, sparse))
    target = statement.targets[0]
    scope = at.source.scope_at(statement.lineno)
    if not isinstance(target, ast.Name) or scope is None:
        raise EditError("the dense tensor has no name of its own")
    names = [one for one in walked(scope) if isinstance(one, ast.Name) and one.id == target.id]
    reads = [one for one in names if isinstance(one.ctx, ast.Load) and one.lineno > statement.lineno]
    if not reads or len(names) != len(reads) + 1:
        raise EditError("the name stands for other values too")
    changes = [(at.span, sparse)]
    for one in reads:
        changes += _used(at, one, target.id)
    return changed(at.source, changes)


def _used(at: Place, node: Node, name: str) -> list[tuple[Span, str]]:
    """What a use becomes: a sum over a dimension is one of a sparse tensor, a product with it stays as it is."""
    outer = at.at(node).parent()
    span = at.source.span(node)
    if isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.MatMult) and outer.left is node:
        return [(span, name)]
    if isinstance(outer, ast.Call) and called(outer) in _PRODUCTS and outer.args[:1] == [node]:
        return [(span, name)]
    call = at.at(outer).parent() if isinstance(outer, ast.Attribute) else None
    if not isinstance(call, ast.Call) or call.func is not outer:
        raise EditError("the dense tensor is used otherwise")
    if called(call) in _PRODUCTS:
        return [(span, name)]
    dimension = [*call.args, *(word.value for word in call.keywords if word.arg == "dim")]
    if called(call) != "sum" or len(dimension) != 1 or len(call.args) + len(call.keywords) != 1:
        raise EditError("the dense tensor is used otherwise")
    text = f"torch.sparse.sum({name}, dim={at.source.text(dimension[0])}).to_dense()"
    return [(at.source.span(call), text)]
