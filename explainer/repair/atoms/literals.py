"""Whole numbers written in the source: a dimension, and any other."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterator
from typing import Any

from explainer.dimensions import is_dimension
from explainer.edits.evidence import Evidence
from explainer.edits.expressions import named
from explainer.repair.atoms.common import (
    expressions,
    integer,
    integers,
    lengths,
    number,
    proportional,
    shape_of,
    wanted,
)
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.replay.recorders.taint import literals, value_of
from explainer.source import Source, called, loaded, stored, walked

_MOST = 8
#: How far steps and layers are looked at for trees; how large a literal may become, and how many sizes it may make.
_STEPS, _WIDEST, _GOALS = 20, 600, 2
#: Numbers up to here say how many dimensions, layers or entries there are as often as a size.
_FEW = 4
#: What one more, or one less, costs of a number that is added.
_OFFSET = 0.4
#: What it is worth that the dimension is the one that there is not.
_ASKED = 2.0
#: What a dimension costs more where an index is too large: along a longer one any index fits.
_BEYOND = 1.8


def dimension(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`cat((a, b), dim=0)` -> `dim=1`: another dimension in place of one that is written."""
    beyond = _BEYOND * ("out of bounds" in evidence.message)
    known = max((len(shape) for shape, _ in (spot.step.before if spot.step else ())), default=0)
    rank = known or 4
    for node in _numbers(spot):
        value = number(node)
        if value is None or not is_dimension(spot.place.source, node):
            continue
        asked = value in evidence.said and "Dimension out of range" in evidence.message
        plain = value >= 0 and (known > 1 or _is_table(spot, evidence, node))
        others = [*range(rank), *(() if plain else (-1, -2))]  # which are two of them
        kept = {one % rank for one in _dimensions_beside(spot, node)}
        along = _counted_along(spot, node, value)
        for new in dict.fromkeys(one for one in others if one % rank != value % rank or one == -1 != value):
            if new % rank in kept:  # `transpose(1, 1)` turns nothing
                continue
            weight = beyond + 0.2 * abs(abs(new) - abs(value)) - _ASKED * asked
            twins = tuple((one, str(new)) for one in along)
            yield Offer("dimension", spot, node, str(new), "rank", weight, twins=twins)
    for node in expressions(spot):
        values = [number(one) for one in node.elts] if isinstance(node, ast.Tuple) else []
        if len(values) > 1 and None not in values and all(is_dimension(spot.place.source, one) for one in node.elts):  # type: ignore[attr-defined]
            for new in itertools.combinations(range(rank), len(values)):
                if list(new) != values:
                    yield Offer("dimension", spot, node, f"({', '.join(map(str, new))})", "rank", 0.3)
            for more in {max(values) + 1, -1} if min(values) >= 0 else ():  # type: ignore[type-var, operator]
                if more < rank:
                    yield Offer("dimension", spot, node, f"({', '.join(map(str, [*values, more]))})", "more", 0.4)


def _is_table(spot: Spot, evidence: Evidence, node: ast.expr) -> bool:
    """Whether a dimension is one of a tensor whose shape is known, and has more than one."""
    owner = _owner(spot.place.source, node)
    return owner is not None and len(shape_of(spot, owner, evidence) or ()) > 1


def _owner(source: Source, node: ast.expr) -> ast.expr | None:
    """What the method is called on that is given an argument, by its keyword too: `x` of `x.sum(dim=1)`."""
    call = source.parent_of(node)
    call = source.parent_of(call) if isinstance(call, ast.keyword) else call
    return call.func.value if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else None


def _counted_along(spot: Spot, node: ast.expr, value: int) -> list[ast.expr]:
    """The 1 of `x.size(1) - hits` below `hits = x.sum(1)`: how many there are along what is summed changes with it."""
    source, statement = spot.place.source, spot.place.source.statement_at(node.lineno)
    along = _owner(source, node)
    owner = ast.unparse(along) if along is not None else ""
    names = stored(statement) if isinstance(statement, ast.Assign) and owner else set()
    below = [one for one in source.block_of(statement) if one.lineno > node.lineno and names & loaded(one)]
    calls = [one for each in below for one in walked(each) if isinstance(one, ast.Call) and called(one) == "size"]
    return [one.args[0] for one in calls if one.args and number(one.args[0]) == value
            and isinstance(one.func, ast.Attribute) and ast.unparse(one.func.value) == owner]  # fmt: skip


def _dimensions_beside(spot: Spot, node: ast.expr) -> list[int]:
    """The other dimensions that are written in the same call."""
    call = spot.place.source.parent_of(node)
    beside = [one for one in call.args if one is not node] if isinstance(call, ast.Call) else []
    return [value for one in beside if is_dimension(spot.place.source, one) and (value := number(one)) is not None]


def literal(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`Linear(32, 10)` -> `Linear(64, 10)`: a number in place of another, a name that has a size in question first."""
    sizes, names, listed = wanted(evidence), integers(spot), lengths(spot, evidence)
    for node in _numbers(spot):
        value = number(node)
        if value is None or is_dimension(spot.place.source, node) or _counts(spot, node):
            continue
        for name, known in names.items():
            if known in sizes and known != value:
                yield Offer("literal", spot, node, name, "name", 0.6)
        for name in [name for name, known in listed.items() if known in sizes and known != value]:
            yield Offer("measure", spot, node, name, "length", 0.2)
        for size in sorted(sizes - {value, 0, 1})[:_MOST]:
            for text in list(named(size, spot.scope))[:2]:
                if text not in names:
                    yield Offer("literal", spot, node, text, "expression", 0.9)
        for new in _solving(spot, node, value, sizes):
            yield Offer("literal", spot, node, str(new), "solved", 0.4)
        parent = spot.place.source.parent_of(node)
        if isinstance(parent, ast.keyword) and parent.arg in names and names[parent.arg] != value:
            yield Offer("literal", spot, node, parent.arg, "keyword", -0.6)
        for name, known in list(names.items())[:12]:
            if known not in sizes and known != value:
                yield Offer("literal", spot, node, name, "name", 1.4)
            if value > 1 and math.isqrt(value) ** 2 == value and known not in (1, math.isqrt(value)):
                yield Offer("literal", spot, node, f"{name} ** 2", "square", 0.2)  # of what is as long as it is wide
        yield from (Offer("literal", spot, node, str(new), "shifted", 0.5) for new in _shifted(value, evidence))
        exact = proportional(value, evidence)
        yield from (Offer("literal", spot, node, str(new), "proportional", 0.5) for new in exact)
        near = [one for one in (value * 2, value // 2, value + 1, value - 1, value * 3) if one > 0 or value == 1 + one]
        others = [one for one in sorted(sizes - {value, *near}) if one or value < _FEW]  # no width becomes none at all
        for new in [*dict.fromkeys(near), *others][:_MOST]:
            beside = abs(new - value) == 1 and value <= _FEW  # how many of its dimensions, layers, entries
            weight = (_OFFSET if beside and _offsets(spot, node) else 1.0) if new in sizes or beside else 1.6
            filler = "size" if new in sizes else "beside" if abs(new - value) == 1 else "near"
            yield Offer("literal", spot, node, str(new), filler, weight)


def _offsets(spot: Spot, node: ast.expr) -> bool:
    """Whether a number is added to what is worked out, or taken from it: one more or less is soon miscounted."""
    parent = spot.place.source.parent_of(node)
    sign = parent.op if isinstance(parent, ast.BinOp) else None
    return isinstance(sign, ast.Add) or (isinstance(sign, ast.Sub) and getattr(parent, "right", None) is node)


def _shifted(value: int, evidence: Evidence) -> Iterator[int]:
    """Numbers with which `classes + 1` would be the size in question that it is not."""
    said = [one for one in evidence.said if one > 1]
    for one, other in itertools.permutations(said[:_MOST], 2):
        if 0 < abs(one - value) <= 2 and value > 2 and 1 < other - one + value != one:
            yield other - one + value


def _solving(spot: Spot, node: ast.expr, value: int, sizes: set[int]) -> Iterator[int]:
    """Values with which the product or sum that a number stands in is one of the sizes in question."""
    parent = spot.place.source.parent_of(node)
    whole = integer(spot, parent) if isinstance(parent, ast.BinOp) else None
    if whole is None or not isinstance(parent, ast.BinOp):
        return
    for size in sizes - {whole}:
        if isinstance(parent.op, ast.Mult) and value and size % max(whole // value, 1) == 0 and whole >= value:
            yield size // max(whole // value, 1)
        elif isinstance(parent.op, (ast.Add, ast.Sub)):
            shift = size - whole if isinstance(parent.op, ast.Add) or parent.left is node else whole - size
            if value + shift >= 0:
                yield value + shift


def solved(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`{"image": 32}` -> `{"image": 28}`, of which `(image // patch) ** 2 + 1` is made: what gives a size."""
    node = spot.place.node
    old = number(node)
    if spot.role != "number" or old is None or not isinstance(node, ast.expr):
        return
    sizes = wanted(evidence) - {0, 1}
    for tree, position in _trees(spot, evidence):
        if value_of(tree) in sizes:
            goals = {goal: new for new, goal in reversed(list(_values(tree, position, old))) if goal in sizes}
            for new in sorted(set(goals.values()) - {old}, key=lambda one: abs(one - old))[:_GOALS]:
                yield Offer("solved", spot, node, str(new), "tree")


def _trees(spot: Spot, evidence: Evidence) -> Iterator[tuple[list[Any], tuple[Any, ...]]]:
    """The trees of numbers on the way that a literal is a part of, with its position in them."""
    rows = [tree for step in evidence.steps[:_STEPS] for tree in step.numbers]
    rows += [tree for layer in evidence.layers_around()[:_STEPS] for trees in layer.numbers.values() for tree in trees]
    for tree in rows:
        for part in literals(tree):
            place = evidence.place(part[-2])
            if place is not None and place.node is spot.place.node and tree[0] == "op":
                yield tree, tuple(part[-2])
                break


def _values(tree: list[Any], position: tuple[Any, ...], old: int) -> Iterator[tuple[int, int]]:
    """What a tree would be for other values of a literal."""
    for new in range(1, min(_WIDEST, 4 * max(old, 2)) + 1):
        try:
            yield new, value_of(tree, {position: new})
        except ArithmeticError:
            continue


def _numbers(spot: Spot) -> Iterator[ast.expr]:
    """The numbers at a place, a sign taken with its number."""
    signed = set()
    for node in expressions(spot):
        if number(node) is not None and id(node) not in signed:
            if isinstance(node, ast.UnaryOp):
                signed.add(id(node.operand))
            yield node


def _counts(spot: Spot, node: ast.expr) -> bool:
    """Whether a number stands in a subscript: those belong to the atom of slices."""
    parent = spot.place.source.parent_of(node)
    while isinstance(parent, (ast.Tuple, ast.Slice)):
        parent = spot.place.source.parent_of(parent)
    return isinstance(parent, ast.Subscript) or integer(spot, node) is None
