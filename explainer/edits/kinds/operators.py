"""Edits of operators: replace-operator (`1 - mask` to `~mask`, `/` to `//`) and out-of-place."""

from __future__ import annotations

import ast

from explainer.diagnosis import Edit
from explainer.edits.kinds.arguments import drop_argument
from explainer.edits.lines import EditError, changed
from explainer.edits.place import Place, as_operand, as_primary

SIGNS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}


def replace_operator(at: Place, to: str) -> tuple[Edit, ...]:
    """Another operator between the same operands; `to: invert` writes `~mask` for `1 - mask` and for `-mask`."""
    node = at.node
    if to == "invert":
        return changed(at.source, [(at.span, f"~{as_primary(at.at(_inverted(node)))}")])
    if not isinstance(node, ast.BinOp):
        raise EditError("no operator stands here")
    left, right = as_primary(at.at(node.left)), as_primary(at.at(node.right))
    if isinstance(node.left, ast.Constant):
        left = at.source.text(node.left)
    if isinstance(node.right, ast.Constant):
        right = at.source.text(node.right)
    return changed(at.source, [(at.span, f"{left} {to} {right}")])


#: Methods that fill a tensor with other values, of which there is no kind that returns a new one.
FILLS = frozenset({
    "bernoulli_", "cauchy_", "exponential_", "fill_", "geometric_", "log_normal_", "normal_", "random_", "uniform_",
    "zero_",
})  # fmt: skip


def _inverted(node: ast.AST) -> ast.expr:
    minus = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)
    if minus and isinstance(node.left, ast.Constant) and node.left.value == 1:  # type: ignore[attr-defined]
        return node.right  # type: ignore[attr-defined]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        return node.operand
    raise EditError("nothing to invert stands here")


def out_of_place(at: Place) -> tuple[Edit, ...]:
    """The same work without the write: `y += x`, `y.add_(x)`, `relu(y, inplace=True)`, `y[i] = v` on a copy."""
    node = at.node.value if isinstance(at.node, ast.Expr) else at.node
    if isinstance(node, ast.AugAssign):
        return _augmented(at, node)
    if isinstance(node, ast.Call) and any(word.arg == "inplace" for word in node.keywords):
        return _flag(at.at(node))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_"):
        return _method(at, node, node.func)
    raise EditError("no in-place operation stands here")


def _augmented(at: Place, node: ast.AugAssign) -> tuple[Edit, ...]:
    target, value = at.source.text(node.target), at.source.text(node.value)
    sign = SIGNS[type(node.op)]
    return changed(at.source, [(at.source.span(node), f"{target} = {target} {sign} {as_operand(value)}")])


def _flag(call: Place) -> tuple[Edit, ...]:
    node = call.node
    kept = call.at(node).statement()
    if isinstance(kept.node, ast.Expr) and kept.node.value is node and node.args:  # type: ignore[attr-defined]
        first = call.source.text(node.args[0])  # type: ignore[attr-defined]
        others = [call.source.text(p) for p in (*node.args, *node.keywords) if getattr(p, "arg", "") != "inplace"]  # type: ignore
        text = f"{first} = {call.source.text(node.func)}({', '.join(others)})"  # type: ignore[attr-defined]
        return changed(call.source, [(call.span, text)])
    return drop_argument(call, "inplace")


def _method(at: Place, node: ast.Call, function: ast.Attribute) -> tuple[Edit, ...]:
    """`y.add_(x)` -> `y = y.add(x)` as a statement, `y.add(x)` where its value is used; a fill goes into a copy."""
    head, text = at.source.text(function), at.source.text(node)
    copied = f"{at.source.text(function.value)}.clone().{function.attr}"
    plain = (copied if function.attr in FILLS else head[:-1]) + text[len(head) :]
    statement = at.at(node).statement().node
    if not (isinstance(statement, ast.Expr) and statement.value is node):
        return changed(at.source, [(at.source.span(node), plain)])
    if not isinstance(function.value, (ast.Name, ast.Attribute, ast.Subscript)):
        raise EditError("the result could not be assigned back")
    return changed(at.source, [(at.source.span(node), f"{at.source.text(function.value)} = {plain}")])
