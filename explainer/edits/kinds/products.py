"""Edits of operands as wholes: matrices of a product exchanged, values that count from zero, what is divided by."""

from __future__ import annotations

import ast

from explainer.bindings import assignments, dotted
from explainer.diagnosis import Edit
from explainer.edits.lines import EditError, changed
from explainer.edits.place import Place, as_primary, replaced_each
from explainer.source import called, walked

#: Functions and methods that multiply two matrices.
PRODUCTS = ("mm", "matmul", "bmm")


def exchange_operands(at: Place) -> tuple[Edit, ...]:
    """The two matrices of a product in the other order."""
    return changed(at.source, [(at.span, exchanged(at))])


def exchanged(at: Place) -> str:
    """The source of a product with its two matrices in the other order."""
    node, pair = at.node, factors(at.node)
    if pair is None:
        raise EditError("no product of two matrices stands here")
    left, right = (as_primary(at.at(one)) for one in pair)
    if not isinstance(node, ast.Call):
        return f"{right} @ {left}"
    if len(node.args) == 2:
        return f"{at.source.text(node.func)}({right}, {left})"
    return f"{right}.{called(node)}({left})"


def factors(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """The two matrices of `a @ b`, `torch.mm(a, b)` and `a.mm(b)`."""
    if isinstance(node, ast.BinOp):
        return (node.left, node.right) if isinstance(node.op, ast.MatMult) else None
    if not isinstance(node, ast.Call) or called(node) not in PRODUCTS or node.keywords:
        return None
    given = [node.func.value] if isinstance(node.func, ast.Attribute) and len(node.args) == 1 else []
    both = [*given, *node.args]
    return (both[0], both[1]) if len(both) == 2 else None


def subtract_least(at: Place) -> tuple[Edit, ...]:
    """Values less their smallest, in parentheses where an operand stands."""
    whole, parent = as_primary(at), at.parent()
    alone = isinstance(parent, (ast.Assign, ast.Return)) or at.node in getattr(parent, "args", ())
    text = f"{whole} - {whole}.min()"
    return changed(at.source, [(at.span, text if alone else f"({text})")])


def replace_divisors(at: Place, to: str) -> tuple[Edit, ...]:
    """`a / s, b / s` -> `a / (s + eps), b / (s + eps)`: a divisor, wherever its function divides by the same value."""
    return replaced_each([at, *_divided_alike(at)], lambda _: to)


def _divided_alike(at: Place) -> list[Place]:
    """The other divisors of a function that read a name which it binds once."""
    name, scope = dotted(at.node), at.source.function_at(at.span.line) or at.source.tree
    if scope is None or not name or len(assignments(scope, name)) > 1:
        return []
    ratios = [one for one in walked(scope) if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Div)]
    return [at.at(one.right) for one in ratios if one.right is not at.node and dotted(one.right) == name]
