"""Expressions for a wanted number: what a scope's names evaluate to, and which of them would give it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from explainer.replay.recorders.taint import literals, value_of
from explainer.source import walked

_MOST = 8


def evaluated(node: ast.AST, scope: Mapping[str, Any]) -> int | None:
    """The integer that an expression has in a scope of recorded names; None where that is not known."""
    text = ast.unparse(node).replace("'", '"')
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(scope.get(text), int):
        return scope[text]
    if text.startswith("len(") and isinstance(scope.get(text[4:-1]), list):  # of a tensor, known by its shape
        return next(iter(scope[text[4:-1]][0]), None)
    if isinstance(node, ast.BinOp):
        left, right = evaluated(node.left, scope), evaluated(node.right, scope)
        return _arithmetic(node.op, left, right) if left is not None and right is not None else None
    return _size(node, scope)


def _arithmetic(sign: ast.operator, left: int, right: int) -> int | None:
    try:
        if isinstance(sign, ast.Add):
            return left + right
        if isinstance(sign, ast.Sub):
            return left - right
        if isinstance(sign, ast.Mult):
            return left * right
        if isinstance(sign, ast.FloorDiv):
            return left // right
        if isinstance(sign, ast.Pow) and 0 <= right <= 8:
            return left**right
    except ArithmeticError:
        pass
    return None


def _size(node: ast.AST, scope: Mapping[str, Any]) -> int | None:
    """`x.size(1)` and `x.shape[1]` of a tensor in scope."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "size" and node.args:
        owner, index = node.func.value, node.args[0]
    elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        owner, index = node.value.value, node.slice
    else:
        return None
    shape = scope.get(ast.unparse(owner))
    at = ast.literal_eval(index) if isinstance(index, (ast.Constant, ast.UnaryOp)) else None
    try:
        return shape[0][at]  # type: ignore[index]
    except (TypeError, IndexError):
        return None


def named(wanted: int, scope: Mapping[str, Any], old: str = "") -> Iterator[str]:
    """Expressions over names that give a number, the plainest first: `n`, `k * old`, `a * b`, `a // b`, `n + 1`."""
    ints = {name: value for name, value in scope.items() if isinstance(value, int) and 0 < value < 10**7}
    seen: set[str] = set()
    for text in sorted(_forms(wanted, ints, old), key=_terms):
        alike = " ".join(sorted(text.split()))  # `a * b` is `b * a`
        if text != old and alike not in seen:
            seen.add(alike)
            yield text
            if len(seen) >= _MOST:
                return


def _terms(text: str) -> int:
    """Of how many numbers an expression is made."""
    return len(re.split(r" (?:[-+*]|//|\*\*) ", text))


def _forms(wanted: int, ints: Mapping[str, int], old: str) -> Iterator[str]:
    yield from (name for name, value in ints.items() if value == wanted and name != old)
    base = ints.get(old) or _of_text(old, ints)
    old = f"({old})" if " + " in old or " - " in old else old
    if base:
        yield from (f"{name} * {old}" for name, value in ints.items() if value * base == wanted and name != old)
        if base == 2 * wanted:
            yield f"{old} // 2"
        yield from (f"{old} // {name}" for name, value in ints.items()
                    if value > 1 and wanted * value == base and name != old and "len(" not in name)  # fmt: skip
        yield from (f"{name} // {old}" for name, value in ints.items()
                    if base > 1 and wanted * base == value and "len(" not in name)  # fmt: skip
        yield from (f"{old} + {name}" for name, value in ints.items() if value + base == wanted and name != old)
        yield from (f"{name} - {old}" for name, value in ints.items() if value - base == wanted and name != old)
        yield from (f"{name} ** 2 * {old}" for name, value in ints.items()
                    if value**2 * base == wanted and "len(" not in name)  # fmt: skip
        yield from (f"{old} + {one} * {other}" for one, a in ints.items() for other, b in ints.items()
                    if one < other and 0 < a * b == wanted - base and old not in (one, other)
                    and "len(" not in one + other)  # fmt: skip
        if wanted % base == 0 and wanted > base:
            yield f"{wanted // base} * {old}"
    names = list(ints)[:40]
    for index, one in enumerate(names):
        for other in names[index + 1 :]:
            if ints[one] * ints[other] == wanted and min(ints[one], ints[other]) > 1:
                yield f"{one} * {other}"
            if ints[one] + ints[other] == wanted and "len(" not in one + other:
                yield f"{one} + {other}"
            for large, small in ((one, other), (other, one)):
                if ints[large] == wanted * ints[small] and ints[small] > 1 and "len(" not in one + other:
                    yield f"{large} // {small}"
    yield from (f"{name} + 1" for name, value in ints.items() if value + 1 == wanted)


def _of_text(text: str, scope: Mapping[str, int]) -> int | None:
    try:
        return evaluated(ast.parse(text, mode="eval").body, scope)
    except SyntaxError:
        return None


def sized(wanted: int, scope: Mapping[str, Any]) -> Iterator[str]:
    """`x.shape[1]` for the tensors in scope that have the number as a size (the first dimension last)."""
    for name, value in scope.items():
        if isinstance(value, list) and isinstance(value[0], list):
            yield from (f"{name}.shape[{i}]" for i, size in enumerate(value[0]) if size == wanted and i > 0)


def solved(tree: list[Any], wanted: int) -> Iterator[tuple[list[Any], int]]:
    """The literals of a tree, each with the value that alone makes the tree give `wanted`."""
    for leaf in literals(tree):
        value = _solution(tree, leaf, wanted)
        if value is not None and leaf[0] == "lit":
            yield leaf, value


def _solution(tree: list[Any], leaf: list[Any], wanted: int) -> int | None:
    """The value of one literal that gives `wanted`; of several the first with which all divisions come out even.

    Where several fit, and with each of them fewer divisions do than did so far, nobody would choose one of these.
    """
    at = tuple(leaf[1])
    found: list[int] = []
    for value in [wanted, *range(1, 4097)] if tree[0] == "op" else [wanted]:
        try:
            if value != leaf[-1] and value_of(tree, {at: value}) == wanted:
                found.append(value)
        except ArithmeticError:
            continue
    rests = {value: remainders(tree, {at: value}) for value in found}
    fits = [value for value in found if len(found) == 1 or rests[value] <= remainders(tree, {})]
    return min(fits, key=lambda value: rests[value] > 0, default=None)


def remainders(tree: list[Any], replaced: dict[tuple[Any, ...], int]) -> int:
    """How many integer divisions in a tree leave a remainder."""
    if tree[0] != "op":
        return 0
    left = tree[1] == "//" and value_of(tree[2], replaced) % (value_of(tree[3], replaced) or 1) > 0
    return left + remainders(tree[2], replaced) + remainders(tree[3], replaced)


def product(sizes: list[int]) -> str:
    """`16 * 5 * 5` for [16, 5, 5]; sizes of one are left out."""
    return " * ".join(str(size) for size in sizes if size != 1) or "1"


def summands(node: ast.expr) -> list[ast.expr]:
    """The terms of a sum, from left to right; an expression that is none itself."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return summands(node.left) + summands(node.right)
    return [node]


def bends_formula(parent: ast.AST | None, node: ast.AST, value: int) -> bool:
    """Whether the 1 of `(n - kernel) // stride + 1` would be a number far from it: a term is missing there instead."""
    if not isinstance(parent, ast.BinOp) or not isinstance(parent.op, (ast.Add, ast.Sub)):
        return False
    other = parent.left if parent.right is node else parent.right
    old = node.value if isinstance(node, ast.Constant) else None
    quotient = any(isinstance(one, ast.BinOp) and isinstance(one.op, ast.FloorDiv) for one in walked(other))
    return quotient and type(old) is int and abs(old - value) > 1


def last_cut(node: ast.AST, rank: int) -> ast.Slice | None:
    """`:n` of `x[:, :n]` and `x[..., :n]`, which cut the last of `rank` dimensions alone; None of any other."""
    if not isinstance(node, ast.Subscript):
        return None
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    whole = all(ast.unparse(one) in (":", "...") for one in parts[:-1])
    reaches = len(parts) == rank or any(ast.unparse(one) == "..." for one in parts)
    return parts[-1] if whole and reaches and isinstance(parts[-1], ast.Slice) else None
