"""Whether a number that a program prints gets better by rising, told from how it is computed where no word says so."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterable, Iterator

from explainer.source import Source, called, loaded, stored
from explainer.training import rewrite
from explainer.training.judge import rises

#: The name before a number in a text that is printed: `agreement=`, `share right: `.
_NAMED = re.compile(r"([A-Za-z_][\w@.-]*)\s*[=:]?\s*$")
#: How many names, functions and counters a value is followed back through.
_DEEP = 4
_SUMMED = ("mean", "sum", "count_nonzero", "average")
_DISTANCES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "cdist", "dist")
_PLAINLY = ("item", "float", "round", "cpu", "detach", "numpy", "double", "sqrt")
_SIZES = ("abs", "square", "norm", "pow")
#: How a program calls what it is content with, and what it is not.
_GOOD = frozenset(["ok", "pass", "passed", "good", "success", "succeeded", "converged", "solved", "fine", "reached"])
_BAD = frozenset(["poor", "fail", "failed", "bad", "failure", "diverged", "unsolved", "missed", "insufficient"])


def directions(sources: Iterable[Source]) -> dict[str, bool | float]:
    """By name, lower-case: True where what is printed behind it counts what is equal, False where it is a distance.

    A number is what the program holds it against: `abs(coverage - 0.9)`.
    """
    found: dict[str, set[bool | float]] = {}
    for source in sources:
        judged = dict(_judged(source))
        for name, value in printed(source):
            up = _goal(source, value)
            up = judged.get(source.text(value)) if up is None else up
            up = _rising(source, value, value.lineno, _DEEP) if up is None else up
            if up is not None:
                found.setdefault(name.lower(), set()).add(up)
    return {name: ups.pop() for name, ups in found.items() if len(ups) == 1}


def _judged(source: Source) -> Iterator[tuple[str, bool]]:
    """Values that the program itself holds against a bound, and whether above it they are good.

    It says so by an assertion, or by what it calls the two sides: `"passed" if score > 0.9 else "failed"`.
    """
    for node in source.nodes():
        content = True if isinstance(node, ast.Assert) else _content(_sides(node))
        if content is None:
            continue
        test = node.test  # type: ignore[attr-defined]
        for one in test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]:
            if isinstance(one, ast.Compare) and len(one.ops) == 1:
                sign, sides = one.ops[0], (one.left, one.comparators[0])
                above = isinstance(sign, (ast.Gt, ast.GtE))
                if above or isinstance(sign, (ast.Lt, ast.LtE)):
                    yield source.text(sides[0]), above == content
                    yield source.text(sides[1]), above != content


def _sides(node: ast.AST) -> tuple[str, str]:
    """The texts of the two sides of a choice, which are printed where it is a statement; empty where it has none."""
    if isinstance(node, ast.IfExp):
        return _text(node.body), _text(node.orelse)
    if not isinstance(node, ast.If):
        return "", ""
    first, second = (
        next((one.value.args[0] for one in side if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call)
              and called(one.value) == "print" and one.value.args), None)
        for side in (node.body, node.orelse)
    )  # fmt: skip
    return _text(first), _text(second)


def _text(node: ast.AST | None) -> str:
    """A literal text, or how a formatted one begins."""
    node = node.values[0] if isinstance(node, ast.JoinedStr) and node.values else node
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _content(sides: tuple[str, str]) -> bool | None:
    """Whether a choice between two texts calls its first one good; None where neither is a verdict."""
    first, second = (set(re.findall(r"[a-z]+", one.lower())) for one in sides)
    if first & _GOOD or second & _BAD:
        return True
    return False if first & _BAD or second & _GOOD else None


def better_by_rising(source: Source, value: ast.expr) -> bool | None:
    """Whether what a program computes is better the larger it is: by its name, else by how; None where unknown."""
    named = rises(source.text(value))
    return _rising(source, value, value.lineno, _DEEP) if named is None else named


def _goal(source: Source, value: ast.expr) -> float | None:
    """The number from which the program itself takes how far a value lies off."""
    for node in source.nodes():
        off = node.args[0] if isinstance(node, ast.Call) and called(node) == "abs" and node.args else None
        if isinstance(off, ast.BinOp) and isinstance(off.op, ast.Sub) and source.text(off.left) == source.text(value):
            goal = rewrite.literal_of(source, off.right, ())
            number = getattr(goal[1], "value", None) if goal is not None else None
            return float(number) if isinstance(number, (int, float)) and not isinstance(number, bool) else None
    return next((middle for text, middle in _between(source) if text == source.text(value)), None)


def _between(source: Source) -> Iterator[tuple[str, float]]:
    """Values that a program is content with between two bounds, `0.85 < coverage < 0.95`, and what lies amid these."""
    for node in source.nodes():
        test = getattr(node, "test", None)
        if not isinstance(test, ast.Compare) or len(test.ops) != 2 or not _content(_sides(node)):
            continue
        ends = [rewrite.literal_of(source, one, ()) for one in (test.left, test.comparators[1])]
        numbers = [getattr(one[1], "value", None) for one in ends if one is not None]
        if all(isinstance(sign, (ast.Lt, ast.LtE)) for sign in test.ops) and len(numbers) == 2:
            yield source.text(test.comparators[0]), sum(map(float, numbers)) / 2  # type: ignore[arg-type]


def verdict(sources: Iterable[Source], printed: str) -> bool | None:
    """Whether a program calls its own result good enough in the last line printed; None where it says neither.

    It says so by the two sides of a choice of words that depends on a bound: `"OK" if score > 0.9 else "POOR"`.
    """
    last = printed.strip().rpartition("\n")[2]
    said = {good for source in sources for text, good in _words(source) if text and text in last}
    return said.pop() if len(said) == 1 else None


def judges(source: Source) -> bool:
    """Whether a program has words of its own for what is good enough."""
    return any(True for _ in _words(source))


def _words(source: Source) -> Iterator[tuple[str, bool]]:
    """The texts by which a program calls what is good enough, and what is not."""
    for node in source.nodes():
        sides = _sides(node)
        content = _content(sides)
        if content is not None:
            yield from zip(sides, (content, not content), strict=True)


def printed(source: Source) -> Iterator[tuple[str, ast.expr]]:
    """Names in texts that are printed, with the values behind them."""
    for node in source.nodes():
        for text, value in _pairs(node):
            known = isinstance(text, ast.Constant) and isinstance(text.value, str)
            named = _NAMED.search(text.value.partition("%")[0].partition("{")[0]) if known else None  # type: ignore[attr-defined]
            if named is not None:
                yield named.group(1), value


def _pairs(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Texts with the values that stand behind them: in an f-string, in `print("acc", acc)`, in `"acc %.2f" % acc`."""
    if isinstance(node, ast.JoinedStr):
        for text, value in itertools.pairwise(node.values):
            if isinstance(value, ast.FormattedValue):
                yield text, value.value
    elif isinstance(node, ast.Call) and called(node) == "print":
        yield from itertools.pairwise(node.args)
    elif isinstance(node, ast.Call) and called(node) == "format" and len(node.args) == 1:
        yield node.func.value, node.args[0]  # type: ignore[attr-defined]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and not isinstance(node.right, ast.Tuple):
        yield node.left, node.right


def _rising(source: Source, value: ast.AST, line: int, deep: int) -> bool | None:
    """Whether a value is better the larger it is; None where that cannot be told."""
    value = _bare(value)
    turned = _turned(value)
    if turned is not None:
        up = _rising(source, turned, line, deep)
        return None if up is None else not up
    parts = [node for each in (value, *_answers(source, value)) for node in ast.walk(each)]
    compared = [one for one in parts if isinstance(one, ast.Compare) and len(one.ops) == 1]
    summed = any(isinstance(one, ast.Call) and called(one) in _SUMMED for one in parts)
    if compared and summed:
        ups = {_counted(one) for one in compared}
        return ups.pop() if len(ups) == 1 else None
    if compared:
        return None
    if _distant(value):
        return False
    if summed and deep:
        counted = [_summed(one) for name in loaded(value) for one in _given(source, name, line)]
        ups = {_rising(source, one, one.lineno, 0) for one in counted} - {None}
        return ups.pop() if len(ups) == 1 else None
    return _followed(source, value, line, deep - 1) if deep else None


def _answers(source: Source, value: ast.AST) -> list[ast.expr]:
    """What the program's own functions return that a value is computed with."""
    names = {called(one) for one in ast.walk(value) if isinstance(one, ast.Call)}
    own = [one for one in source.nodes() if isinstance(one, ast.FunctionDef) and one.name in names]
    answers = [one.value for each in own for one in ast.walk(each) if isinstance(one, ast.Return)]
    return [one for one in answers if one is not None]


def _bare(value: ast.AST) -> ast.AST:
    """A value without what only makes a plain number of it: `x.item()`, `float(x)`, `100 * x`."""
    while True:
        if isinstance(value, ast.Call) and called(value) in _PLAINLY:
            inner = value.func.value if isinstance(value.func, ast.Attribute) else (value.args or [value])[0]
        elif isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Div, ast.Mult)):
            inner = value.right if isinstance(value.left, ast.Constant) else value.left
        else:
            return value
        if inner is value:
            return value
        value = inner


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
    answers = _answers(source, value) if isinstance(value, ast.Call) else []
    ups = {_rising(source, one, one.lineno, deep) for one in answers}
    if len(ups) == 1:
        return ups.pop()
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
