"""Candidates for tables that data gave their size, counted in cells of another unit: metres for millimetres."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.bindings import given_to_name, last_name
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place, as_operand
from explainer.source import Source, called

#: How many of one unit another is, the usual ones first.
_UNITS = (1000, 100)
#: Calls whose sizes may come from data.
_MADE = ("zeros", "ones", "full", "empty", "rand", "randn", "arange", "linspace", "bincount", "histc", "one_hot")
_ROUNDED = ("int", "floor", "ceil", "round", "long", "trunc", "item")
_FOLLOWED = 4


def in_other_units(evidence: Evidence) -> Iterator[Candidate]:
    """`0.25` -> `250.0` for the size of a cell by which data are divided to give a table its size."""
    for unit in _UNITS:
        for division in _divisions(evidence):
            for place in _literals(evidence, division.node.right):  # type: ignore[union-attr]
                new, old = _times(place.node, unit), place.text
                told = f"{unit:_}"
                yield from evidence.replaced(
                    place, new, "replace-literal", "other-unit", literal=True, new=new, old=old, unit=told
                )


def in_unit_of_cells(evidence: Evidence) -> Iterator[Candidate]:
    """`x / cell` -> `x / 1000 / cell`, where the cell's size is a number that the program was given."""
    for unit in _UNITS:
        for division in _divisions(evidence):
            if any(_literals(evidence, division.node.right)):  # type: ignore[union-attr]
                yield from _less(evidence, division, unit)


def _less(evidence: Evidence, division: Place, unit: int) -> Iterator[Candidate]:
    """`x / cell` -> `x / 1000 / cell`."""
    left, right = (division.source.text(one) for one in (division.node.left, division.node.right))  # type: ignore
    new = f"{as_operand(left)} / {unit:_} / {as_operand(right)}"
    yield from evidence.replaced(division, new, "replace", "less-by-unit", what=left[:48], unit=f"{unit:_}")


def _times(node: ast.AST, unit: int) -> str:
    """A literal so many times as large, still a float where it was one."""
    value = node.value * unit  # type: ignore[attr-defined]
    return repr(value) if isinstance(value, int) else repr(float(f"{value:.12g}"))


def _divisions(evidence: Evidence) -> list[Place]:
    """The divisions whose results are rounded to whole numbers, where the failing call makes a table."""
    if evidence.crash is None or evidence.crash.function not in _MADE:
        return []
    rounded = [
        Place(source, part)
        for source in evidence.sources_seen()
        for call in source.nodes()
        if isinstance(call, ast.Call) and called(call) in _ROUNDED
        for part in ast.walk(call)
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div)
    ]
    return list({(one.source.file, one.span.line, one.span.column): one for one in rounded}.values())


def _literals(evidence: Evidence, node: ast.expr) -> Iterator[Place]:
    """The numbers that a divisor may be: those given to its name, or to the names that it is given, in any file."""
    names = [last_name(node)]
    seen: set[str] = set()
    for name in names:
        if not name or name in seen or len(seen) > _FOLLOWED:
            continue
        seen.add(name)
        for source in evidence.sources_seen():
            for value in _given(source, name):
                if isinstance(value, ast.Constant) and type(value.value) in (int, float) and value.value:
                    yield Place(source, value)
                else:
                    names.append(last_name(value))


def _given(source: Source, name: str) -> Iterator[ast.expr]:
    """What a file gives to a name, by position too."""
    yield from given_to_name(source, name)
    for node in source.nodes():
        if isinstance(node, ast.Call):
            yield from _by_position(source, node, name)


def _by_position(source: Source, call: ast.Call, name: str) -> Iterator[ast.expr]:
    """What a call gives to a parameter of this name of a function or class of the same file."""
    for node in source.nodes():
        own = getattr(node, "name", "") == last_name(call.func)
        parts = node.body if isinstance(node, ast.ClassDef) and own else [node] if own else []
        for function in parts:
            if isinstance(function, ast.FunctionDef) and (function is node or function.name == "__init__"):
                names = [one.arg for one in function.args.args if one.arg != "self"]
                yield from (one for key, one in zip(names, call.args, strict=False) if key == name)
