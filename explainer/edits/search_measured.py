"""Candidates for lengths that were measured of what is cut: `len(e)` where only `e[:max_len]` goes on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place
from explainer.frozen import frozen
from explainer.source import Source, called

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
_BOUNDS = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant)


@frozen
class Cut:
    """`e[-most:]`: the subscript, the source of `most`, of what is cut, and of what its items come from in a loop."""

    node: ast.Subscript
    most: str
    of: str
    items: str
    rows: bool


def within_cut(evidence: Evidence) -> Iterator[Candidate]:
    """`len(e)` -> `min(len(e), max_len)` in a function that hands on no more than `e[:max_len]`."""
    for source, function in _functions(evidence):
        cuts = list(_cuts(source, function))
        for node in ast.walk(function) if cuts else ():
            cut = _measured(source, function, node, cuts)
            if cut is None or not isinstance(node, ast.Call):
                continue
            place, new = Place(source, node), f"min({source.text(node)}, {cut.most})"
            words: dict[str, Any] = {"new": new, "what": cut.of or cut.items, "cut": source.text(cut.node)}
            yield from evidence.replaced(place, new, "replace", "within-cut", **words)


def _functions(evidence: Evidence) -> Iterator[tuple[Source, ast.AST]]:
    """The functions in which the steps to the failing call stand."""
    seen: set[int] = set()
    for place in (place for step in evidence.steps for place in step.places):
        function = place.source.function_at(place.span.line)
        if function is not None and id(function) not in seen:
            seen.add(id(function))
            yield place.source, function


def _cuts(source: Source, function: ast.AST) -> Iterator[Cut]:
    loops = _loops(source, function)
    for node in ast.walk(function):
        bound = _bound(node.slice) if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) else None
        if isinstance(node, ast.Subscript) and bound is not None:
            rows = isinstance(node.slice, ast.Tuple)
            of = source.text(node.value)
            yield Cut(node, source.text(bound), of, loops.get(id(node), {}).get(of, ""), rows)


def _bound(node: ast.AST) -> ast.expr | None:
    """`n` of the slices `:n` and `-n:`, also along a later dimension."""
    if isinstance(node, ast.Tuple):
        whole = [one for one in node.elts[:-1] if isinstance(one, ast.Slice) and one.upper is None]
        return _bound(node.elts[-1]) if node.elts and len(whole) == len(node.elts) - 1 else None
    if not isinstance(node, ast.Slice) or node.step is not None or (node.lower is None) == (node.upper is None):
        return None
    found = node.upper
    if isinstance(node.lower, ast.UnaryOp) and isinstance(node.lower.op, ast.USub):
        found = node.lower.operand
    small = isinstance(found, ast.Constant) and (type(found.value) is not int or found.value < 2)
    return found if isinstance(found, _BOUNDS) and not small else None


def _loops(source: Source, function: ast.AST) -> dict[int, dict[str, str]]:
    """For each expression inside a comprehension: what its variables are the items of."""
    found: dict[int, dict[str, str]] = {}
    for node in ast.walk(function):
        for part in node.generators if isinstance(node, _COMPREHENSIONS) else ():
            for inner in ast.walk(node):
                found.setdefault(id(inner), {})[source.text(part.target)] = source.text(part.iter)
    return found


def _measured(source: Source, function: ast.AST, node: ast.AST, cuts: list[Cut]) -> Cut | None:
    """The cut of what a `len(...)` measures whole, where the result is no part of a test or of a smaller number."""
    if not isinstance(node, ast.Call) or called(node) != "len" or len(node.args) != 1:
        return None
    above = Place(source, node).parent()
    if isinstance(above, ast.Compare) or (isinstance(above, ast.Call) and called(above) in ("min", "range", "print")):
        return None
    text = source.text(node.args[0])
    items = _loops(source, function).get(id(node), {}).get(text, "")
    same = [one for one in cuts if (one.items == items if items else one.of == text) or (one.rows and items)]
    return next((one for one in same if not _cut_before(source, function, one, node)), None)


def _cut_before(source: Source, function: ast.AST, cut: Cut, node: ast.Call) -> bool:
    """Whether what is measured has been bound to the cut of itself further up."""
    names = {source.text(node.args[0]), cut.items or cut.of}
    for one in ast.walk(function):
        if isinstance(one, ast.Assign) and one.lineno < node.lineno and any(p is cut.node for p in ast.walk(one)):
            return any(source.text(target) in names for target in one.targets)
    return False
