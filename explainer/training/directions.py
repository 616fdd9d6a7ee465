"""Whether a number that a program prints gets better by rising, told from how it is computed where no word says so."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from explainer.source import Source, called, stored

#: The name before a number in a text that is printed: `agreement=`, `share right: `.
_NAMED = re.compile(r"([A-Za-z_][\w@.-]*)\s*[=:]?\s*$")
#: How many names, functions and counters a value is followed back through.
_DEEP = 4
_SUMMED = ("mean", "sum", "count_nonzero", "average")
_DISTANCES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "cdist", "dist")
_SIZES = ("abs", "square", "norm", "pow")


def directions(sources: Iterable[Source]) -> dict[str, bool]:
    """By name, lower-case: True where what is printed behind it counts what is equal, False where it is a distance."""
    found: dict[str, set[bool]] = {}
    for source in sources:
        for name, value in _printed(source):
            up = _rising(source, value, value.lineno, _DEEP)
            if up is not None:
                found.setdefault(name.lower(), set()).add(up)
    return {name: ups.pop() for name, ups in found.items() if len(ups) == 1}


def _printed(source: Source) -> Iterator[tuple[str, ast.expr]]:
    """Names in f-strings with the values behind them."""
    for node in source.nodes():
        if not isinstance(node, ast.JoinedStr):
            continue
        for text, value in zip(node.values, node.values[1:], strict=False):
            known = isinstance(text, ast.Constant) and isinstance(value, ast.FormattedValue)
            named = _NAMED.search(str(text.value)) if known else None  # type: ignore[attr-defined]
            if named is not None:
                yield named.group(1), value.value  # type: ignore[attr-defined]


def _rising(source: Source, value: ast.AST, line: int, deep: int) -> bool | None:
    """Whether a value is better the larger it is; None where that cannot be told."""
    turned = _turned(value)
    if turned is not None:
        up = _rising(source, turned, line, deep)
        return None if up is None else not up
    compared = [one for one in ast.walk(value) if isinstance(one, ast.Compare) and len(one.ops) == 1]
    summed = any(isinstance(one, ast.Call) and called(one) in _SUMMED for one in ast.walk(value))
    if compared and summed:
        ups = {_counted(one) for one in compared}
        return ups.pop() if len(ups) == 1 else None
    if compared:
        return None
    if _distant(value):
        return False
    return _followed(source, value, line, deep - 1) if deep else None


def _turned(value: ast.AST) -> ast.expr | None:
    """What a value falls with: `error` of `1 - error` and of `-error`."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Sub) and isinstance(value.left, ast.Constant):
        return value.right
    return value.operand if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub) else None


def _counted(compared: ast.Compare) -> bool | None:
    """What a count of true comparisons tells: equal ones are right, small distances as well."""
    sign = compared.ops[0]
    if isinstance(sign, (ast.Eq, ast.NotEq)):
        return isinstance(sign, ast.Eq)
    if isinstance(sign, (ast.Lt, ast.LtE)) and _distant(compared.left):
        return True
    return False if isinstance(sign, (ast.Gt, ast.GtE)) and _distant(compared.left) else None


def _distant(value: ast.AST) -> bool:
    """Whether a value is how far two others lie apart."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call) and called(node) in _DISTANCES:
            return True
        squared = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)
        sized = squared or (isinstance(node, ast.Call) and called(node) in _SIZES)
        inner = [one for one in ast.walk(node) if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Sub)]
        if sized and inner:
            return True
    return False


def _followed(source: Source, value: ast.AST, line: int, deep: int) -> bool | None:
    """The same of the value that a name was given, that a function returns, or that a counter counted."""
    if isinstance(value, ast.Call):
        own = [one for one in source.nodes() if isinstance(one, ast.FunctionDef) and one.name == called(value)]
        answers = [one for each in own[:1] for one in ast.walk(each) if isinstance(one, ast.Return)]
        ups = {_rising(source, one.value, one.lineno, deep) for one in answers if one.value is not None}
        if len(ups) == 1:
            return ups.pop()
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Div, ast.Mult)):
        return _followed(source, value.left, line, deep)
    if isinstance(value, ast.Call) and value.args and called(value) in ("float", "round", "sum", "len", "mean"):
        return _followed(source, value.args[0], line, deep)
    if not isinstance(value, ast.Name):
        return None
    given = list(_given(source, value.id, line))
    ups = {_rising(source, one, one.lineno, deep) if deep else None for one in given}
    return ups.pop() if len(ups) == 1 else None


def _given(source: Source, name: str, line: int) -> Iterator[ast.expr]:
    """What is assigned to a name, or added to it, in the scope of a line."""
    for node in ast.walk(source.scope_at(line)):
        if isinstance(node, ast.Assign) and name in stored(node) and not isinstance(node.value, ast.Constant):
            if isinstance(node.targets[0], ast.Name):
                yield node.value
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            yield _summed(node.value)


def _summed(value: ast.expr) -> ast.expr:
    """What is added up, as a sum of it."""
    call = ast.Call(ast.Name("sum", ast.Load()), [value], [])
    return ast.fix_missing_locations(ast.copy_location(call, value))
