"""Integers that remember where they came from: literals of the user's files, and the arithmetic done with them."""

from __future__ import annotations

import ast
import builtins
import operator
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from explainer.replay.recorders import numbered

#: Trees deeper than this are cut: a loop counter must not grow without end.
_DEPTH = 10
_SIGNS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}
Position = tuple[str, int, int, int, int]


class Number(int):
    """An int with its tree: ["lit" or "len", position, value] or ["op", sign, left, right, position, value].

    Positions are (file, line, end line, byte column, end byte column), as code objects have them.
    """

    tree: list[Any]

    def __reduce__(self) -> Any:
        return int, (int(self),)

    def __deepcopy__(self, _memo: Any) -> Number:
        return self


def tree_of(value: Any) -> list[Any]:
    """A number's tree; ["const", value] where nothing is known of it."""
    return getattr(value, "tree", None) or ["const", int(value)]


def depth(tree: list[Any]) -> int:
    """How many operations lie on the longest way down."""
    return 1 + max(depth(tree[2]), depth(tree[3])) if tree[0] == "op" else 0


def value_of(tree: list[Any], replaced: dict[tuple[Any, ...], int] | None = None) -> int:
    """What a tree evaluates to, with some literals (by position) replaced; may raise ArithmeticError."""
    if tree[0] == "op":
        left, right = value_of(tree[2], replaced), value_of(tree[3], replaced)
        if tree[1] == "**" and (right < 0 or right > 16):
            raise ArithmeticError("no such power")
        return _SIGNS[tree[1]](left, right)
    if tree[0] in ("lit", "len") and replaced and tuple(tree[1]) in replaced:
        return replaced[tuple(tree[1])]
    return int(tree[-1])


def parts(tree: list[Any]) -> list[list[Any]]:
    """The operations of a tree, outermost first."""
    return [tree, *parts(tree[2]), *parts(tree[3])] if tree[0] == "op" else []


def value_with(tree: list[Any], part: list[Any], value: int) -> int | None:
    """What a tree evaluates to where one of its operations gives another value, at each place where it stands."""
    if tree[0] == "op" and tree[1:] == part[1:]:
        return value
    if tree[0] != "op":
        return int(tree[-1])
    left, right = value_with(tree[2], part, value), value_with(tree[3], part, value)
    try:
        return _SIGNS[tree[1]](left, right) if left is not None and right is not None and right < 10**6 else None
    except ArithmeticError:
        return None


def leaves(tree: list[Any]) -> list[list[Any]]:
    """What a number was computed from."""
    return [*leaves(tree[2]), *leaves(tree[3])] if tree[0] == "op" else [tree]


def literals(tree: list[Any]) -> list[list[Any]]:
    """The literals and lengths that a tree ends in."""
    if tree[0] == "op":
        return literals(tree[2]) + literals(tree[3])
    return [tree] if tree[0] in ("lit", "len") else []


def made(value: int, tree: list[Any]) -> Number:
    """An integer with a tree."""
    number = Number(value)
    number.tree = tree
    return number


def forgotten(value: Any) -> Any:
    """A value whose numbers are plain ones, in plain dicts, lists and tuples; all else as it is."""
    if type(value) is Number:
        return int(value)
    if type(value) is dict:
        return {forgotten(key): forgotten(one) for key, one in value.items()}
    return type(value)(map(forgotten, value)) if type(value) in (list, tuple) else value


#: What is told of the frames in which numbers are computed, and how often of each function.
told: Callable[[Any], None] | None = None
_OFTEN = 8
_times: dict[Any, int] = {}


def _met(frame: Any) -> None:
    count = _times.get(frame.f_code, 0)
    if told is not None and count < _OFTEN:
        _times[frame.f_code] = count + 1
        told(frame)


def _operation(sign: str, name: str, swapped: bool) -> Callable[[Any, Any], Any]:
    plain = getattr(int, name)

    def method(self: Number, other: Any, *more: Any) -> Any:
        value = plain(self, other, *more)
        if type(value) is not int or more:
            return value
        left, right = tree_of(self), tree_of(other)
        if swapped:
            left, right = right, left
        if depth(left) >= _DEPTH or depth(right) >= _DEPTH:
            return value
        _met(sys._getframe(1))
        return made(value, ["op", sign, left, right, _here(), value])

    return method


for _sign, _name in (("+", "add"), ("-", "sub"), ("*", "mul"), ("//", "floordiv"), ("%", "mod"), ("**", "pow")):
    setattr(Number, f"__{_name}__", _operation(_sign, f"__{_name}__", False))
    setattr(Number, f"__r{_name}__", _operation(_sign, f"__r{_name}__", True))

_positions: dict[Any, list[Any]] = {}


def position(frame: Any) -> Position | None:
    """The source position of the instruction that a frame stands at."""
    code = frame.f_code
    if numbered.NEEDED:
        bounds = numbered.bounds(code, frame.f_lasti)
        return (code.co_filename, *bounds) if bounds is not None else None
    if code not in _positions:
        _positions[code] = list(code.co_positions())
    table, at = _positions[code], frame.f_lasti // 2
    if at >= len(table) or None in table[at]:
        return None
    return (code.co_filename, *table[at])


def _here() -> Position | None:
    return position(sys._getframe(2))


def install(owned: Callable[[str], bool], numbers: bool = True) -> None:
    """From now on compile the sources for which `owned(path)` holds with positions, and literals as `Number`."""
    from importlib.machinery import SourceFileLoader

    plain = SourceFileLoader.source_to_code

    def source_to_code(self: Any, data: Any, path: Any, **words: Any) -> Any:
        if not owned(str(path)):
            return plain(self, data, path, **words)
        tree = ast.parse(data, str(path))
        marked = ast.fix_missing_locations(_Marking(str(path)).visit(tree)) if numbers else tree
        if numbered.NEEDED:
            numbered.number(marked, str(path))
        return compile(marked, str(path), "exec", dont_inherit=True)

    SourceFileLoader.source_to_code = source_to_code  # type: ignore[method-assign,assignment]
    builtins.__explain_number__ = _literal  # type: ignore[attr-defined]
    builtins.__explain_length__ = _length  # type: ignore[attr-defined]


def _literal(value: int, at: Position) -> Number:
    return made(value, ["lit", at, value])


#: Whose length was read at a place, the last time, and what it was; what has no weak references is held itself.
_measured: dict[Position, tuple[Callable[[], Any], int]] = {}


def _length(value: Any, at: Position) -> Number:
    size = len(value)
    try:
        _measured[at] = weakref.ref(value), size
    except TypeError:
        if type(value) in (list, dict, set):
            _measured[at] = (lambda: value), size
    return made(size, ["len", at, size])


def outgrown() -> Iterator[tuple[Position, int, int]]:
    """The places where a length was read that is another by now, with what it was and what it is."""
    for at, (held, size) in _measured.items():
        value = held()
        try:
            now = len(value) if value is not None else size
        except Exception:  # whatever the program's own `__len__` raises
            continue
        if now != size:
            yield at, size, now


class _Marking(ast.NodeTransformer):
    """Wraps integer literals and `len(...)`; leaves f-strings, signs, annotations and patterns alone."""

    def __init__(self, path: str):
        self.path = path

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return self._call("__explain_number__", node, node) if type(node.value) is int else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        plain = isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1 and not node.keywords
        self.generic_visit(node)
        return self._call("__explain_length__", node.args[0], node) if plain else node

    def visit_JoinedStr(self, node: ast.AST) -> ast.AST:
        return node

    visit_UnaryOp = visit_Match = visit_JoinedStr

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.value = self.visit(node.value) if node.value is not None else None
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return node

    def _call(self, name: str, value: ast.expr, at: Any) -> ast.AST:
        place = (self.path, at.lineno, at.end_lineno, at.col_offset, at.end_col_offset)
        elements: list[ast.expr] = [ast.Constant(part) for part in place]
        call = ast.Call(ast.Name(name, ast.Load()), [value, ast.Tuple(elements, ast.Load())], [])
        for node in ast.walk(call):
            if node is not value and not hasattr(node, "lineno"):
                ast.copy_location(node, at)
        return ast.copy_location(call, at)
