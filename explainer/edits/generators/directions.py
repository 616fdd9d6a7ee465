"""Candidates for the state of a layer of two directions that a layer of one is given."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.generators.slices import operands, trunk
from explainer.edits.kinds.statements import insert_statement
from explainer.edits.place import Place
from explainer.source import loaded, walked

_TWICE = re.compile(r"Expected hidden(?:\[\d\])? size \((\d+), (\d+), (\d+)\), got \[(\d+), \2, \3\]")
_LAYERS = ("gru", "lstm", "rnn_tanh", "rnn_relu")


def joined(evidence: Evidence) -> Iterator[Candidate]:
    """`out, hidden = self.rnn(x)`, then `hidden = hidden.sum(0, keepdim=True)`: both directions' states as one."""
    sizes = _TWICE.search(evidence.message)
    if sizes is None or int(sizes[4]) != 2 * int(sizes[1]):
        return
    layers = int(sizes[1])
    shape = [int(sizes[4]), int(sizes[2]), int(sizes[3])]
    given = [one for one in operands(evidence) if one.shape == shape]
    steps = [step for one in given for step in trunk(evidence, one.start) if step.function in _LAYERS]
    place = steps[0].place if steps else None
    statement = place.statement() if place is not None else None
    names = _states(statement.node) if statement is not None else []
    if statement is None or not names:
        return
    text = "\n".join(f"{name} = {_as_one(name, layers)}" for name in names)
    words: dict[str, Any] = {"new": _as_one(names[0], layers), "old": names[0]}
    edits = partial(insert_statement, text, after=statement)
    yield from evidence.made(edits, "insert-statement", _next_read(statement, names) or statement, "rename", **words)


def _as_one(name: str, layers: int) -> str:
    if layers == 1:
        return f"{name}.sum(0, keepdim=True)"
    return f"{name}.view({layers}, 2, *{name}.shape[1:]).sum(1)"


def _states(statement: ast.AST) -> list[str]:
    """The names that a statement gives to the states: `h` of `out, h = rnn(x)`, `h, c` of `out, (h, c) = lstm(x)`."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    parts = target.elts[1:] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else []
    every = parts[0].elts if parts and isinstance(parts[0], ast.Tuple) else parts
    return [one.id for one in every if isinstance(one, ast.Name)]


def _next_read(statement: Place, names: list[str]) -> Place | None:
    """The first statement below another in its function that reads one of the names."""
    function, line = statement.source.function_at(statement.span.line), statement.node.end_lineno or 0
    below = [one for one in walked(function) if isinstance(one, ast.stmt) and one.lineno > line] if function else []
    below.sort(key=lambda one: one.lineno)
    return next((statement.at(one) for one in below if loaded(one) & set(names)), None)
