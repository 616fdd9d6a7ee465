"""Candidates for sums of widths that leave one of their kind out: `a + b` where `a`, `b` and `c` are joined."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place
from explainer.edits.sites import layers_hit
from explainer.source import Source, loaded

#: How many widths that a sum leaves out are tried.
_MOST = 3


def with_left_out(evidence: Evidence) -> Iterator[Candidate]:
    """`self.out = c1 + c3` -> `c1 + c3 + pool`: a width that the function hands on as it does the others."""
    if not layers_hit(evidence):
        return
    for source in evidence.sources_seen():
        for function in source.nodes():
            if isinstance(function, ast.FunctionDef):
                yield from _of_function(evidence, source, function)


def _of_function(evidence: Evidence, source: Source, function: ast.FunctionDef) -> Iterator[Candidate]:
    given = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    handed = set().union(*(loaded(one) for call in given for one in (*call.args, *call.keywords)))
    widths = [one.arg for one in (*function.args.args, *function.args.kwonlyargs) if one.arg in handed]
    for node in _sums(function):
        terms = [one.id for one in _terms(node) if isinstance(one, ast.Name)]
        left_out = [name for name in widths if name not in terms]
        if len(terms) == len(_terms(node)) == len(set(terms)) > 1 and set(terms) <= set(widths):
            for name in left_out[: -_MOST - 1 : -1]:
                old = source.text(node)
                new = f"{old} + {name}"
                yield from evidence.replaced(Place(source, node), new, "replace", "rename", new=new, old=old)


def _sums(function: ast.FunctionDef) -> Iterator[ast.BinOp]:
    """The sums in a function, each whole."""
    every = [one for one in ast.walk(function) if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Add)]
    inner = {id(side) for one in every for side in (one.left, one.right)}
    yield from (one for one in every if id(one) not in inner)


def _terms(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_terms(node.left), *_terms(node.right)]
    return [node]
