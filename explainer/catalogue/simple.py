"""Comparisons and sums of facts, evaluated as jinja2 would, without it: to load it takes a third of a diagnosis.

What is not surely the same there (filters but `length`, tests but `none`, names that are absent) is left to it.
"""

from __future__ import annotations

import ast
import functools
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

Names = Mapping[str, Any]
_LENGTH = re.compile(r"([A-Za-z]\w*(?:\.[A-Za-z]\w*|\[-?\w*:?-?\w*\])*) *\| *length\b")
_WORDS = {"none": None, "None": None, "true": True, "True": True, "false": False, "False": False}
_SIGNS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod}
_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip
#: Methods of strings and of mappings written out, by which facts are told apart.
_METHODS = {"startswith": str, "endswith": str, "get": dict}


class Unlike(Exception):
    """Raised where jinja2 has to be asked."""


@functools.lru_cache(maxsize=4096)
def parsed(expression: str) -> ast.expr | None:
    """The expression as Python reads it, where all of it means the same to jinja2; None for any other."""
    try:
        tree = ast.parse(_LENGTH.sub(r"length(\1)", expression.strip()), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return tree if _means_the_same(tree) else None


def _means_the_same(node: ast.AST) -> bool:
    if isinstance(node, ast.Compare):
        tests = zip(node.ops, node.comparators, strict=True)
        known = all(type(op) in _COMPARED or (isinstance(op, (ast.Is, ast.IsNot)) and _is_none(to)) for op, to in tests)
    elif isinstance(node, ast.BinOp):
        known = type(node.op) in _SIGNS
    elif isinstance(node, ast.UnaryOp):
        known = isinstance(node.op, (ast.Not, ast.USub))
    elif isinstance(node, ast.Call):
        known = not node.keywords and _is_known(node.func)
    elif isinstance(node, ast.Constant):
        known = isinstance(node.value, (int, float, str))
    else:
        known = isinstance(node, _PLAIN)
    return known and all(_means_the_same(one) for one in ast.iter_child_nodes(node))


_PLAIN = (
    ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.BoolOp, ast.IfExp, ast.Tuple, ast.List, ast.Dict,
    ast.expr_context, ast.boolop, ast.cmpop, ast.operator, ast.unaryop,
)  # fmt: skip


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("none", "None")


def _is_known(function: ast.expr) -> bool:
    return (isinstance(function, ast.Name) and function.id == "length") or (
        isinstance(function, ast.Attribute) and function.attr in _METHODS
    )


def evaluated(node: ast.AST, names: Names, attribute: Callable[[Any, str], Any]) -> Any:
    """The value of what `parsed` gave. Raises Unlike, or what the operation does, where jinja2 has to be asked."""
    of = functools.partial(evaluated, names=names, attribute=attribute)
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return _WORDS[node.id] if node.id in _WORDS else names[node.id]
    if isinstance(node, ast.Attribute):
        return attribute(of(node.value), _public(node.attr))
    if isinstance(node, ast.Subscript):
        return of(node.value)[of(node.slice)]
    if isinstance(node, ast.Slice):
        return slice(*(of(one) if one is not None else None for one in (node.lower, node.upper, node.step)))
    if isinstance(node, ast.Compare):
        return _compared(node, of)
    if isinstance(node, ast.BoolOp):
        return _joined(node, of)
    if isinstance(node, ast.UnaryOp):
        return not of(node.operand) if isinstance(node.op, ast.Not) else -of(node.operand)
    if isinstance(node, ast.IfExp):
        return of(node.body) if of(node.test) else of(node.orelse)
    if isinstance(node, ast.BinOp):
        return _SIGNS[type(node.op)](of(node.left), of(node.right))
    if isinstance(node, ast.Dict):
        return {of(key): of(one) for key, one in zip(node.keys, node.values, strict=True) if key is not None}
    if isinstance(node, (ast.Tuple, ast.List)):
        return (tuple if isinstance(node, ast.Tuple) else list)(of(one) for one in node.elts)
    if isinstance(node, ast.Call):
        return _called(node, of)
    raise Unlike(type(node).__name__)


def _public(name: str) -> str:
    if name.startswith("_"):
        raise Unlike(name)
    return name


def _compared(node: ast.Compare, of: Callable[[ast.AST], Any]) -> bool:
    left = of(node.left)
    for sign, to in zip(node.ops, node.comparators, strict=True):
        right = of(to)
        if isinstance(sign, (ast.Is, ast.IsNot)):
            held = (left is right) is isinstance(sign, ast.Is)
        else:
            held = _COMPARED[type(sign)](left, right)
        if not held:
            return False
        left = right
    return True


def _joined(node: ast.BoolOp, of: Callable[[ast.AST], Any]) -> Any:
    found: Any = None
    for one in node.values:
        found = of(one)
        if bool(found) is isinstance(node.op, ast.Or):
            break
    return found


def _called(node: ast.Call, of: Callable[[ast.AST], Any]) -> Any:
    given = [of(one) for one in node.args]
    if isinstance(node.func, ast.Name):
        return len(given[0])
    owner, name = of(node.func.value), node.func.attr  # type: ignore[attr-defined]
    if type(owner) is not _METHODS[name]:
        raise Unlike(name)
    return getattr(owner, name)(*given)
