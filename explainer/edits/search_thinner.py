"""Candidates for joins of parts some of which lack the dimension that they are joined along: it is put into those."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.methods import insert_methods
from explainer.edits.place import Place
from explainer.edits.search_axis import JOINS, dimension_of
from explainer.edits.slices import operands
from explainer.source import called

#: How many expressions of a list are put together in one edit.
_TOGETHER = 3


def with_dimension(evidence: Evidence) -> Iterator[Candidate]:
    """`columns += [batch[n] for n in names]` -> `batch[n].unsqueeze(1)`: what gives a join parts of one rank less."""
    crash, every = evidence.crash, operands(evidence)
    ranks = sorted({len(one.shape) for one in every})
    if crash is None or crash.place is None or crash.function not in JOINS or len(ranks) != 2:
        return
    at, thin = dimension_of(crash.place) % ranks[1], [one for one in every if len(one.shape) == ranks[0]]
    if ranks[1] - ranks[0] != 1 or not isinstance(crash.place.node, ast.Call) or not crash.place.node.args:
        return
    given = crash.place.node.args[0]
    if isinstance(given, (ast.List, ast.Tuple)):
        choices = [tuple(one.place for one in thin if one.place is not None)]
    else:
        parts = _listed(crash.place, given)
        choices = [some for count in range(1, _TOGETHER + 1) for some in itertools.combinations(parts, count)]
    for each in choices if thin else ():
        yield from _with(evidence, each, f"unsqueeze({at})", thin[0].shape)


def _with(evidence: Evidence, each: tuple[Place, ...], method: str, shape: list[int]) -> Iterator[Candidate]:
    what = ", ".join(" ".join(one.text.split())[:32] for one in each)
    words: dict[str, Any] = {"what": what, "method": f".{method}", "shape": shape}
    if each:
        yield from evidence.made(partial(insert_methods, each, method), "insert-methods", each[0], "insert", **words)


def _listed(call: Place, given: ast.expr) -> list[Place]:
    """The expressions that a list is made and filled with, the last one first."""
    scope = call.source.scope_at(call.node.lineno)
    held = [given] if not isinstance(given, ast.Name) else _filled(scope, given.id) if scope is not None else []
    parts = [one for value in held for one in _elements(value)]
    return [call.at(one) for one in sorted(parts, key=lambda one: -one.lineno)]


def _filled(scope: ast.AST, name: str) -> Iterator[ast.expr]:
    """What a list of a name is given in a function: lists, and what is appended as a list of one."""
    for node in ast.walk(scope):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if isinstance(node, (ast.Assign, ast.AugAssign)) and any(getattr(one, "id", "") == name for one in targets):
            yield node.value
        owner = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
        if isinstance(node, ast.Call) and getattr(owner, "id", "") == name and len(node.args) == 1:
            kind = called(node)
            yield from node.args if kind == "extend" else [ast.List(node.args)] if kind == "append" else []


def _elements(value: ast.expr) -> list[ast.expr]:
    """`a`, `b` of `[a, b]`; `f(x)` of `[f(x) for x in xs]`; those of both sides of `[a] + [b]`."""
    if isinstance(value, (ast.ListComp, ast.GeneratorExp)):
        return [value.elt]
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        return _elements(value.left) + _elements(value.right)
    parts = value.elts if isinstance(value, (ast.List, ast.Tuple)) else []
    return [inner for one in parts for inner in ([one] if not isinstance(one, ast.Starred) else _elements(one.value))]
