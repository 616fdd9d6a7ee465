"""Comparisons and sums of facts, evaluated as jinja2 would, without it: to load it takes a tenth of a second.

What is not surely the same there (most of its filters, tests but `none` and `defined`) is left to it.
"""

from __future__ import annotations

import ast
import functools
import numbers
import operator
from collections.abc import Callable, Mapping
from typing import Any

from explainer.catalogue import bounds
from explainer.catalogue.bounds import WordsError
from explainer.catalogue.filters import PLAIN
from explainer.patterns import Pattern

Names = Mapping[str, Any]
#: jinja2's sign that joins texts stands for Python's `@`, which it lacks; not inside of quotes.
_JOINING = Pattern(r"('[^']*'|\"[^\"]*\")|~")
_LENGTH = Pattern(r"([A-Za-z]\w*(?:\.[A-Za-z]\w*|\[-?\w*:?-?\w*\])*) *\| *length\b")
_WORDS = {"none": None, "None": None, "true": True, "True": True, "false": False, "False": False}
COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip
#: Names that jinja2 has of itself.
_GLOBALS = ("range", "dict", "namespace")
_IS = (ast.Is, ast.IsNot)
_TESTS: dict[str, Callable[[Any], bool]] = {
    "none": lambda one: one is None, "None": lambda one: one is None, "string": lambda one: isinstance(one, str),
    "number": lambda one: isinstance(one, numbers.Number),
}  # fmt: skip
#: Methods by which facts are told apart, with those that have them.
_METHODS: dict[str, tuple[type, ...]] = {
    "startswith": (str,), "endswith": (str,), "split": (str,), "isdigit": (str,), "count": (str, list, tuple),
    "index": (list, tuple), "get": (dict,),
}  # fmt: skip
#: A text that is repeated is no longer than this; jinja2 refuses some that are.
_LONGEST = 1000


class Unlike(Exception):
    """Raised where jinja2 has to be asked."""


@functools.lru_cache(maxsize=4096)
def parsed(expression: str) -> ast.expr | None:
    """The expression as Python reads it, where all of it means the same to jinja2; None for any other."""
    if "@" in expression:
        return None
    text = _JOINING.sub(lambda found: found[1] or "@", expression.strip())
    try:
        tree = ast.parse(_LENGTH.sub(r"length(\1)", text), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return tree if _means_the_same(tree) else None


def _of_integers(operation: Callable[[int, int], int]) -> Callable[[Any, Any], int]:
    """An operation that means other things for texts and lists, which are left to jinja2."""

    def operated(one: Any, other: Any) -> int:
        if type(one) is not int or type(other) is not int:
            raise Unlike(f"{one!r}, {other!r}")
        return operation(one, other)

    return operated


def _times(one: Any, other: Any) -> Any:
    if type(one) is str and type(other) is int and len(one) * abs(other) <= _LONGEST:
        return one * other
    bounds.counted("*", one, other)
    return _of_integers(operator.mul)(one, other)


def _plus(one: Any, other: Any) -> Any:
    bounds.counted("+", one, other)
    return one + other


def _joined_texts(one: Any, other: Any) -> str:
    return bounds.joined((one, other))


_SIGNS = {
    ast.Add: _plus, ast.Sub: operator.sub, ast.Mult: _times, ast.MatMult: _joined_texts,
    ast.FloorDiv: _of_integers(operator.floordiv), ast.Mod: _of_integers(operator.mod),
}  # fmt: skip
#: As strong as the joining of texts to Python, stronger to jinja2.
_PRODUCTS = (ast.Mult, ast.FloorDiv, ast.Mod)


def _means_the_same(node: ast.AST) -> bool:
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], _IS) and isinstance(node.left, ast.BinOp):
        return False  # to jinja2 `a + b is none` asks of `b`
    if isinstance(node, ast.Compare):
        tests = zip(node.ops, node.comparators, strict=True)
        known = all(
            (_is_test(to) and len(node.ops) == 1) if isinstance(op, _IS) else type(op) in COMPARED for op, to in tests
        )
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _is_filter(node.right) and _is_filtered(node.left) and _means_the_same(node.left)
    elif isinstance(node, ast.BinOp):
        known = type(node.op) in _SIGNS and not _as_strong(node)
    elif isinstance(node, ast.UnaryOp):
        known = isinstance(node.op, (ast.Not, ast.USub))
    elif isinstance(node, ast.Call):
        known = not node.keywords and _is_known(node.func)
    elif isinstance(node, ast.Constant):
        known = isinstance(node.value, (int, float, str))
    else:
        known = isinstance(node, _PLAIN)
    return known and all(_means_the_same(one) for one in ast.iter_child_nodes(node))


def _as_strong(node: ast.BinOp) -> bool:
    """Whether a product and a joining of texts stand side by side."""
    inner = [one.op for one in (node.left, node.right) if isinstance(one, ast.BinOp)]
    other = _PRODUCTS if isinstance(node.op, ast.MatMult) else ast.MatMult if isinstance(node.op, _PRODUCTS) else ()
    return any(isinstance(one, other) for one in inner)


_PLAIN = (
    ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.BoolOp, ast.IfExp, ast.Tuple, ast.List, ast.Dict,
    ast.expr_context, ast.boolop, ast.cmpop, ast.operator, ast.unaryop,
)  # fmt: skip
_ATOMS = (ast.Name, ast.Attribute, ast.Subscript)


def _is_test(node: ast.expr) -> bool:
    return _names(node, "defined", *_TESTS)


def _names(node: ast.AST, *names: str) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _is_filter(node: ast.expr) -> bool:
    """What stands behind a bar: `list`, `join(", ")`. To jinja2 it binds closer than any operator."""
    call = isinstance(node, ast.Call) and not node.keywords and all(isinstance(one, ast.Constant) for one in node.args)
    return _names(node.func if isinstance(node, ast.Call) and call else node, *PLAIN)


def _is_filtered(node: ast.expr) -> bool:
    """What a filter may be applied to: to jinja2 it binds closer than a sign or an operator."""
    return isinstance(node, _ATOMS) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr))


def _is_known(function: ast.expr) -> bool:
    return (isinstance(function, ast.Name) and function.id == "length") or (
        isinstance(function, ast.Attribute) and function.attr in _METHODS
    )


def evaluated(node: ast.AST, names: Names) -> Any:
    """The value of what `parsed` gave. Raises Unlike where jinja2 has to be asked, else what the operation does."""
    if isinstance(node, ast.Attribute):
        return attribute(evaluated(node.value, names), _public(node.attr))
    if isinstance(node, ast.Name):
        return _WORDS[node.id] if node.id in _WORDS else _named(names, node.id)
    if isinstance(node, ast.Constant):
        return node.value
    of = functools.partial(evaluated, names=names)
    if isinstance(node, ast.Subscript):
        return _item(of(node.value), of(node.slice))
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
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _filtered(node.right, of(node.left))
    if isinstance(node, ast.BinOp):
        return _SIGNS[type(node.op)](_present(node.left, of), _present(node.right, of))
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {_present(key, of): _present(one, of) for key, one in pairs if key is not None}
    if isinstance(node, (ast.Tuple, ast.List)):
        return (tuple if isinstance(node, ast.Tuple) else list)(_present(one, of) for one in node.elts)
    if isinstance(node, ast.Call):
        return _called(node, of)
    raise Unlike(type(node).__name__)


def attribute(of: Any, name: str) -> Any:
    """`of.name` as templates mean it: a mapping's item, of others a field, else what `of[name]` gives."""
    try:
        return of[name] if type(of) is dict or isinstance(of, Mapping) or not hasattr(of, name) else getattr(of, name)
    except (TypeError, LookupError):
        raise WordsError(f"{name!r} is not there") from None


def _named(names: Names, name: str) -> Any:
    if name not in names:
        raise (Unlike if name in _GLOBALS else WordsError)(f"{name!r} is not there")
    return names[name]


def _item(of: Any, at: Any) -> Any:
    """What stands at a place; where nothing does, jinja2 goes on with an undefined value."""
    try:
        return (sliceable(of) if type(at) is slice else of)[at]
    except (LookupError, TypeError) as error:
        raise Unlike(str(error)) from None


def sliceable(value: Any) -> Any:
    """What a part is taken of: the digits of a number, which the text that a pattern captures may be."""
    return str(value) if type(value) is int else value


def _filtered(node: ast.expr, value: Any) -> Any:
    """A filter's result. What jinja2 refuses otherwise is left to it."""
    call = node if isinstance(node, ast.Call) else None
    given = [one.value for one in call.args if isinstance(one, ast.Constant)] if call is not None else []
    try:
        return PLAIN[(call.func if call is not None else node).id](value, *given)  # type: ignore[attr-defined]
    except Exception as error:
        raise Unlike(str(error)) from None


def _public(name: str) -> str:
    if name.startswith("_"):
        raise Unlike(name)
    return name


def _compared(node: ast.Compare, of: Callable[[ast.AST], Any]) -> bool:
    if isinstance(node.ops[0], _IS):
        return _tested(node.left, node.comparators[0], of) is isinstance(node.ops[0], ast.Is)
    left = _present(node.left, of) if isinstance(node.ops[0], (ast.In, ast.NotIn)) else of(node.left)
    for sign, to in zip(node.ops, node.comparators, strict=True):
        right = of(to)
        if not COMPARED[type(sign)](left, right):
            return False
        left = right
    return True


def _tested(node: ast.expr, test: ast.expr, of: Callable[[ast.AST], Any]) -> bool:
    name = getattr(test, "id", "")
    return _defined(node, of) if name == "defined" else _TESTS[name](_present(node, of))


def _present(node: ast.expr, of: Callable[[ast.AST], Any]) -> Any:
    """A value to be told from none, joined, looked for or listed: what is absent there may be no error to jinja2."""
    try:
        return of(node)
    except WordsError as error:
        raise Unlike(str(error)) from None


def _defined(node: ast.expr, of: Callable[[ast.AST], Any]) -> bool:
    """Whether a name, or what hangs on one that is there, is there."""
    if isinstance(node, ast.Attribute):
        of(node.value)
    elif not isinstance(node, ast.Name):
        raise Unlike("defined")
    try:
        of(node)
    except WordsError:
        return False
    return True


def _joined(node: ast.BoolOp, of: Callable[[ast.AST], Any]) -> Any:
    found: Any = None
    for one in node.values:
        found = of(one)
        if bool(found) is isinstance(node.op, ast.Or):
            break
    return found


def _called(node: ast.Call, of: Callable[[ast.AST], Any]) -> Any:
    if isinstance(node.func, ast.Name):
        return len(of(node.args[0]))
    given = [_present(one, of) for one in node.args]
    owner, name = of(node.func.value), node.func.attr  # type: ignore[attr-defined]
    if type(owner) not in _METHODS[name]:
        raise Unlike(name)
    return getattr(owner, name)(*given)
