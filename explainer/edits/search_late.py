"""Candidates for device errors: a model moved only after an object has taken copies of its weights."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.inplace import block_of, index_in
from explainer.edits.lines import EditError
from explainer.edits.place import Place
from explainer.edits.statements import move_statement
from explainer.source import Source

#: Methods of a module that hand out its weights.
_WEIGHTS = ("parameters", "named_parameters", "state_dict", "buffers", "named_buffers")


def moved_first(evidence: Evidence) -> Iterator[Candidate]:
    """`model.to(device)` put above the statement that hands the model on: `EMA(model)`, `Adam(model.parameters())`.

    So, too, `self.model = model.to(device)`: a module is moved in place.
    """
    for source in evidence.sources_seen():
        for call, model in _moves(source):
            for taker in _takers(call, model):
                words: dict[str, Any] = {"what": model, "other": " ".join(taker.text.split())[:60]}
                edits = partial(move_statement, call, before=taker)
                yield from evidence.made(edits, "move-statement", call.statement(), "moved-first", **words)


def _moves(source: Source) -> Iterator[tuple[Place, str]]:
    """The calls `x.to(where)`, `x.cuda()` of a file, with what each moves."""
    for node in source.nodes():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("to", "cuda"):
            yield Place(source, node), source.text(node.func.value)


def _takers(call: Place, model: str) -> list[Place]:
    """The first statement above the move, in its block, that gives the model, or what is in it, to a call."""
    statement = call.statement().node
    if not isinstance(statement, (ast.Expr, ast.Assign)):
        return []
    try:
        block = block_of(call)
        above = block[: index_in(block, call)]
    except EditError:
        return []
    first = next((at for at, one in enumerate(above) if any(_gives(call, n, model) for n in ast.walk(one))), None)
    if first is None or not _may_move(call.source, statement, model, above[first:]):
        return []
    return [call.at(above[first])]


def _may_move(source: Source, move: ast.stmt, model: str, passed: list[ast.stmt]) -> bool:
    """Whether a statement means the same above others: they neither set what it reads nor read what it sets."""
    read = _read(source, move)
    new = {source.text(one) for one in getattr(move, "targets", []) if source.text(one) != model}
    bound = {source.text(target) for one in passed for target in _targets(one)}
    return not bound & read and not any(new & _read(source, one) for one in passed)


def _read(source: Source, statement: ast.stmt) -> set[str]:
    """The names and attributes that a statement reads, as they are written."""
    return {
        source.text(one)
        for one in ast.walk(statement)
        if isinstance(one, (ast.Name, ast.Attribute)) and isinstance(one.ctx, ast.Load)
    }


def _targets(statement: ast.stmt) -> list[ast.expr]:
    """What a statement, or one inside it, binds."""
    return [
        one
        for one in ast.walk(statement)
        if isinstance(one, (ast.Name, ast.Attribute)) and isinstance(one.ctx, ast.Store)
    ]


def _gives(at: Place, node: ast.AST, model: str) -> bool:
    """Whether a call is given the model: `EMA(model, 0.99)`, `SGD(model.parameters())`, or asks for its weights."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr in _WEIGHTS:
        return at.source.text(node.func.value) == model
    texts = [at.source.text(one) for one in (*node.args, *(word.value for word in node.keywords))]
    return any(text == model or text.startswith(f"{model}.") for text in texts)
