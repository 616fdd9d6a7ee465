"""What the atoms share: the expressions at a place, what they are worth there, and how their offers are weighed."""

from __future__ import annotations

import ast
import functools
import itertools
import math
import re
from collections.abc import Iterator, Sequence

from explainer.dimensions import MODULES, of_torch
from explainer.edits.evidence import Evidence
from explainer.edits.expressions import evaluated
from explainer.edits.generators.slices import operands
from explainer.repair.spots import Spot
from explainer.source import Source, holds, walked

_ASKED = re.compile(r"shape '\[([^\]]*)\]' is invalid")
_ROOT = re.compile(r"[.\[]")
#: How many of the numbers that a message names are taken for sizes.
_SAID = 4


def expressions(spot: Spot) -> Sequence[ast.expr]:
    """The expressions that are read at a place, outermost first."""
    return _read(spot.place.node)


@functools.lru_cache(1024)
def _read(around: ast.AST) -> tuple[ast.expr, ...]:
    return tuple(node for node in walked(around) if isinstance(node, ast.expr)
                 and not isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)))  # fmt: skip


def calls(spot: Spot) -> Iterator[ast.Call]:
    """The calls at a place, outermost first."""
    return (node for node in expressions(spot) if isinstance(node, ast.Call))


def text(spot: Spot, node: ast.AST) -> str:
    """The source of a node."""
    return spot.place.source.text(node)


def statement_of(spot: Spot, node: ast.AST) -> ast.AST | None:
    """The statement, or whatever else is no expression, around a node."""
    around: ast.AST | None = node
    while isinstance(around, (ast.expr, ast.keyword)):
        around = spot.place.source.parent_of(around)
    return around


def row_of(statements: Sequence[ast.stmt]) -> ast.Module:
    """Statements that stand behind each other as one node, which an offer of several lines replaces."""
    whole = ast.Module(list(statements), [])
    for one, names in ((statements[0], ("lineno", "col_offset")), (statements[-1], ("end_lineno", "end_col_offset"))):
        for name in names:
            setattr(whole, name, getattr(one, name))
    return whole


def number(node: ast.AST) -> int | None:
    """The integer that a literal stands for, a sign before it counted."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = number(node.operand)
        return -inner if inner is not None else None
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def is_called(spot: Spot, node: ast.AST) -> bool:
    """Whether a node is what a call calls."""
    parent = spot.place.source.parent_of(node)
    return isinstance(parent, ast.Call) and parent.func is node


def is_value(spot: Spot, node: ast.expr) -> bool:
    """Whether an expression is read as a value of its own: no function that is called, no owner of an attribute."""
    parent = spot.place.source.parent_of(node)
    owner = isinstance(parent, (ast.Attribute, ast.Subscript)) and parent.value is node
    called = isinstance(parent, ast.Call) and (parent.func is node or isinstance(node, ast.Attribute))
    return not owner and not called and not (isinstance(node, ast.Name) and node.id in ("self", "torch", "F", "nn"))


def integer(spot: Spot, node: ast.AST) -> int | None:
    """What an expression is worth at a place, where it is a number that is known, or whose name is."""
    value = number(node)
    value = evaluated(node, spot.scope) if value is None else value
    target = _target_of(spot.place.source, node) if value is None else None
    named = spot.scope.get(target.id) if target is not None else None
    return named if value is None and type(named) is int else value


def whole_number(node: ast.expr | None) -> int | None:
    """A whole number as it is written, signed or not."""
    try:
        value = ast.literal_eval(node) if node is not None else None
    except ValueError:
        return None
    return value if type(value) is int else None


def returned(spot: Spot) -> bool:
    """Whether a place is what a function returns."""
    return isinstance(spot.place.source.parent_of(spot.place.node), ast.Return)


def parts(node: ast.AST) -> list[ast.expr]:
    """What a sample that is handed back consists of: the elements of a tuple, the values of a dict, or it alone."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return node.elts
    return node.values if isinstance(node, ast.Dict) else [node] if isinstance(node, ast.expr) else []


def shape_of(spot: Spot, node: ast.AST, evidence: Evidence) -> list[int] | None:
    """The shape of the tensor that an expression is at a place, where its making was recorded or it has a name."""
    for operand in operands(evidence):
        if operand.place is not None and operand.place.node is node:
            return operand.shape
    nodes, names = _recorded(evidence)
    if id(node) in nodes:
        return nodes[id(node)]
    known = spot.scope.get(ast.unparse(node).replace("'", '"')) if isinstance(node, (ast.Name, ast.Attribute)) else None
    if isinstance(known, list):
        return known[0]
    if isinstance(node, ast.Call):  # by the name that it is given
        target = _target_of(spot.place.source, node)
        given = spot.scope.get(target.id) if target is not None else None
        return given[0] if isinstance(given, list) else None
    if isinstance(node, ast.Name):
        rows = names.get((id(spot.place.source.function_at(node.lineno)), node.id), [])
        above = [shape for line, shape in rows if line <= node.lineno]
        return above[-1] if above else None
    return None


def _recorded(evidence: Evidence) -> tuple[dict[int, list[int]], dict[tuple[int, str], list[tuple[int, list[int]]]]]:
    """Shapes by node: what recorded calls made, and were given first; and by function and name, with lines."""
    if evidence.shapes is None:
        nodes: dict[int, list[int]] = {}
        names: dict[tuple[int, str], list[tuple[int, list[int]]]] = {}
        for step in evidence.steps[1:]:
            if step.place is None:
                continue
            if step.out:
                nodes.setdefault(id(step.place.node), step.shape)
            first = _first_given(step.place.node)
            if first is not None and step.before:
                nodes.setdefault(id(first), step.before[0][0])
            target = _target_of(step.place.source, step.place.node)
            if target is not None and step.out:
                function = step.place.source.function_at(target.lineno)
                names.setdefault((id(function), target.id), []).append((target.lineno, step.shape))
        evidence.shapes = nodes, {key: sorted(rows, key=lambda row: row[0]) for key, rows in names.items()}
    return evidence.shapes


def _target_of(source: Source, node: ast.AST) -> ast.Name | None:
    """The one name that an expression's value is given."""
    parent = source.parent_of(node)
    target = parent.targets[0] if isinstance(parent, ast.Assign) and len(parent.targets) == 1 else None
    return target if isinstance(target, ast.Name) else None


def _first_given(node: ast.AST) -> ast.expr | None:
    """The tensor that a call is given first: what a layer or a function of a module is called with, or its owner."""
    if not isinstance(node, ast.Call):
        return None
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    if owner is None or (isinstance(owner, ast.Name) and owner.id in (*MODULES, "self")) or of_torch(owner):
        return node.args[0] if node.args else None
    return owner


def integers(spot: Spot) -> dict[str, int]:
    """The plain names of whole numbers in scope at a place: `n`, `self.heads`, `config.n_embd`."""
    return {
        name: value
        for name, value in spot.scope.items()
        if type(value) is int and "(" not in name and not name.startswith("_") and 0 < value < 10**7
        and _ROOT.split(name)[0] not in bound_below(spot.place.source, spot.place.line)
    }  # fmt: skip


def lengths(spot: Spot, evidence: Evidence) -> dict[str, int]:
    """`len(CLASSES)` for what is written out at the top of a file and known where a place stands."""
    known: dict[str, int] = {}
    own = spot.place.source
    for source in evidence.sources_seen():
        for name, length in _written(source).items():
            if source is own or name in own.imported:
                known.setdefault(f"len({name})", length)
    return known


@functools.lru_cache(64)
def _written(source: Source) -> dict[str, int]:
    """The names of a file that are given a list, tuple or dict which is written out, with its length."""
    found: dict[str, int] = {}
    for one in source.tree.body if source.tree is not None else ():
        value = one.value if isinstance(one, ast.Assign) else None
        rows = value.keys if isinstance(value, ast.Dict) else getattr(value, "elts", None)
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name) and rows and len(rows) > 1:
            found[one.targets[0].id] = len(rows)
    return found


@functools.lru_cache(256)
def bound_below(source: Source, line: int) -> frozenset[str]:
    """The names that a function (or file) binds below a line alone: where no loop goes on above, they are not there."""
    scope = source.scope_at(line)
    if scope is None or any(isinstance(one, (ast.For, ast.While)) and holds(one, line) for one in walked(scope)):
        return frozenset()
    names = [one for one in walked(scope) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
    given = {one.arg for one in walked(scope) if isinstance(one, ast.arg)}
    return frozenset(one.id for one in names) - {one.id for one in names if one.lineno < line} - given


def tensors(spot: Spot) -> dict[str, list[int]]:
    """The tensors in scope at a place by name, with their shapes."""
    return {
        name: value[0]
        for name, value in spot.scope.items()
        if isinstance(value, list) and value and isinstance(value[0], list)
        and _ROOT.split(name)[0] not in bound_below(spot.place.source, spot.place.line)
    }  # fmt: skip


def measured(spot: Spot, value: int) -> Iterator[str]:
    """The sizes of tensors in scope that are so large: `x.size(0)`, those of plain names first."""
    known = sorted(tensors(spot).items(), key=lambda one: "." in one[0])
    yield from (f"{name}.size({at})" for name, shape in known for at, size in enumerate(shape) if size == value)


def wanted(evidence: Evidence) -> set[int]:
    """The sizes that meet at the failing call: those of its operands, its layer and the message."""
    crash = evidence.crash
    sizes = {size for shape, _ in (crash.before if crash is not None else ()) for size in shape}
    asked = _ASKED.search(evidence.message)  # what a view leaves open makes up for the rest
    given = [int(one) for one in re.findall(r"\d+", asked[1].replace("-1", ""))] if asked else []
    rest = math.prod(given)
    entries = math.prod(crash.before[0][0]) if asked and crash is not None and crash.before else 0
    fits = {entries * one // rest for one in given if rest and entries * one % rest == 0}
    return sizes | set(evidence.said) | fits | ({rest} if rest > 1 else set())


def greatest(evidence: Evidence) -> int | None:
    """The greatest index where one is too large for what it indexes; None where none is."""
    known = [one for one in (evidence.crash.extents if evidence.crash is not None else ()) if one is not None]
    return max((one[1] for one in known), default=None) if "out of" in evidence.message else None


def pairs_said(evidence: Evidence) -> Iterator[tuple[int, int]]:
    """The sizes that the message names, each with each."""
    return itertools.permutations(evidence.said_sizes[:_SAID], 2)


def proportional(value: int, evidence: Evidence) -> list[int]:
    """What a number would be for one of two sizes that the message names to become the other."""
    pairs = pairs_said(evidence)
    return sorted({value * b // a for a, b in pairs if a > 1 and b > 1 and value * b % a == 0} - {value, 0, 1})
