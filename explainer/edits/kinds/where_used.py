"""The edit that makes a square table in the size that is used of it, where it is used, in place of the largest ever."""

from __future__ import annotations

import ast

from explainer.bindings import registered
from explainer.diagnosis import Edit, Span
from explainer.edits.lines import EditError, changed, deleted, joined
from explainer.edits.place import Place
from explainer.frozen import frozen
from explainer.source import Source, called, loaded, of_self, stored, walked

#: Functions whose corner is what they make of a corner.
_ALIKE = frozenset({"tril", "triu", "ones", "zeros", "full", "bool", "float", "half", "view", "reshape", "to", "int"})
_FACTORIES = ("ones", "zeros", "full")


@frozen
class Table:
    """A table of an object: the statements that make and keep it, its formula and size, its uses and their size."""

    name: str
    made: tuple[ast.stmt, ...]
    formula: ast.expr
    factory: ast.Call
    size: str
    uses: tuple[ast.Subscript, ...]
    used: str


def build_where_used(at: Place) -> tuple[Edit, ...]:
    """`self.mask = tril(ones(n, n))`, used as `self.mask[:t, :t]` -> `tril(ones(t, t))` in place of the slice."""
    table = table_of(at)
    if table is None:
        raise EditError("no table stands here of which corners alone are used")
    source = at.source
    changes = [(source.span(one), _corner(source, table, one)) for one in table.uses]
    gone = [deleted(source, one.lineno, one.end_lineno or one.lineno) for one in table.made]
    return joined(source, changed(source, changes), *gone)


def table_of(at: Place) -> Table | None:
    """The table that a factory's call makes for `self`, of which methods use a square corner alone."""
    call, statement = at.node, at.statement().node
    owner = at.source.class_at(at.span.line)
    if not isinstance(call, ast.Call) or owner is None or called(call) not in _FACTORIES:
        return None
    size, kept = _square(at.source, call), _kept(at.source, statement)
    if not size or kept is None:
        return None
    name, made, formula = kept
    reads = [one for one in walked(owner) if _reads(one, name)]
    uses = [one for one in walked(owner) if isinstance(one, ast.Subscript) and _reads(one.value, name)]
    sizes = {_limit(at.source, one) for one in uses}
    plain = all(called(one) in _ALIKE for one in walked(formula) if isinstance(one, ast.Call))
    if not uses or len(reads) != len(uses) or len(sizes) != 1 or "" in sizes or not plain:
        return None
    return Table(name, made, formula, call, size, tuple(uses), sizes.pop())


def _square(source: Source, call: ast.Call) -> str:
    """The text of both sizes of a square, also behind sizes of one; empty where it is none."""
    given = list(call.args[:1] if called(call) == "full" else call.args)
    if len(given) == 1 and isinstance(given[0], (ast.Tuple, ast.List)):
        given = given[0].elts
    texts = [source.text(one) for one in given]
    square = len(texts) >= 2 and texts[-1] == texts[-2] and not texts[-1].isdigit() and set(texts[:-2]) <= {"1"}
    return texts[-1] if square else ""


def _kept(source: Source, statement: ast.AST) -> tuple[str, tuple[ast.stmt, ...], ast.expr] | None:
    """The attribute of self in which a statement, or a later one with the name that it binds, keeps a value."""
    name, value = _attribute(statement)
    if name and isinstance(statement, ast.stmt) and value is not None:
        return name, (statement,), value
    target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    function = source.function_at(statement.lineno)  # type: ignore[attr-defined]
    if not isinstance(target, ast.Name) or not isinstance(statement, ast.Assign) or function is None:
        return None
    later = [one for one in walked(function) if isinstance(one, (ast.Assign, ast.Expr)) and target.id in loaded(one)]
    name, value = _attribute(later[0]) if len(later) == 1 else ("", None)
    return (name, (statement, later[0]), statement.value) if name and source.text(value) == target.id else None  # type: ignore


def _attribute(statement: ast.AST) -> tuple[str, ast.expr | None]:
    """`self.mask = value` and `self.register_buffer("mask", value)`: the name and the value."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        own = of_self(target)
        return (target.attr, statement.value) if own else ("", None)  # type: ignore[attr-defined]
    return registered(getattr(statement, "value", None)) or ("", None)


def _reads(node: ast.AST, name: str) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == name
        and isinstance(node.ctx, ast.Load)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )


def _limit(source: Source, use: ast.Subscript) -> str:
    """`t` of `[:t, :t]` and `[:, :, :t, :t]`; empty where another part is used."""
    parts = use.slice.elts if isinstance(use.slice, ast.Tuple) else []
    slices = [one for one in parts if isinstance(one, ast.Slice)]
    whole = all(one.lower is None and one.step is None for one in slices)
    if len(slices) != len(parts) or len(parts) < 2 or not whole or any(one.upper is not None for one in slices[:-2]):
        return ""
    texts = {source.text(one.upper) if one.upper is not None else "" for one in slices[-2:]}
    return texts.pop() if len(texts) == 1 else ""


def _corner(source: Source, table: Table, use: ast.Subscript) -> str:
    """The formula in the size of a use, on the device of the tensor that the size was read from."""
    start, text = source.span(table.formula), source.text(table.formula)
    if start.line != start.end_line:
        raise EditError("the formula takes several lines")
    end = source.span(table.factory).end_column or 1
    changes: list[tuple[Span, str]] = [
        (source.span(one), table.used)
        for one in walked(table.formula)
        if isinstance(one, ast.expr) and source.text(one) == table.size
    ]
    pieces = sorted(((span.column or 1, span.end_column or 1, new) for span, new in changes), reverse=True)
    measured = _measured(source, use, table.used)
    given = any(word.arg == "device" for word in table.factory.keywords)
    if measured and not given:
        pieces = sorted([*pieces, (end - 1, end - 1, f", device={measured}.device")], reverse=True)
    for first, last, new in pieces:
        text = text[: first - (start.column or 1)] + new + text[last - (start.column or 1) :]
    simple = isinstance(table.formula, (ast.Call, ast.Name))
    return text if simple else f"({text})"


def _measured(source: Source, use: ast.Subscript, size: str) -> str:
    """The tensor whose shape gave a size its name in the function that uses it: `x` of `b, t = x.shape`."""
    function = source.function_at(use.lineno)
    for node in walked(function) if function is not None else ():
        value = node.value if isinstance(node, ast.Assign) else None
        if value is not None and size in stored(node):
            return _shape_of(value)
    return _shape_of(ast.parse(size, mode="eval").body)


def _shape_of(node: ast.expr) -> str:
    """`x` of `x.shape`, `x.shape[1]`, `x.size()` and `x.size(1)`; empty for anything else."""
    node = node.value if isinstance(node, ast.Subscript) else node
    node = node.func if isinstance(node, ast.Call) else node
    plain = isinstance(node, ast.Attribute) and node.attr in ("shape", "size") and isinstance(node.value, ast.Name)
    return node.value.id if plain else ""  # type: ignore[attr-defined, union-attr]
