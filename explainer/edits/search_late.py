"""Candidates for device errors: a model moved only after an object has taken copies of its weights."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.devices import moves
from explainer.edits.evidence import Evidence
from explainer.edits.inplace import block_of, index_in
from explainer.edits.lines import EditError
from explainer.edits.place import Place
from explainer.edits.statements import move_statement


def moved_first(evidence: Evidence) -> Iterator[Candidate]:
    """`model.to(device)` put above the statement that hands the model on: `EMA(model)`, `Adam(model.parameters())`."""
    for source in evidence.sources_seen():
        for call, _ in moves(source):
            model = source.text(call.node.func.value)  # type: ignore[union-attr]
            for taker in _takers(call, model):
                words: dict[str, Any] = {"what": model, "other": " ".join(taker.text.split())[:60]}
                edits = partial(move_statement, call, before=taker)
                yield from evidence.made(edits, "move-statement", call.statement(), "moved-first", **words)


def _takers(call: Place, model: str) -> list[Place]:
    """The first statement above the move, in its block, that gives the model, or what is in it, to a call."""
    statement = call.statement().node
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not (isinstance(statement, ast.Expr) or (target is not None and call.source.text(target) == model)):
        return []
    try:
        block = block_of(call)
        above = block[: index_in(block, call)]
    except EditError:
        return []
    given = (one for one in above if any(_gives(call, node, model) for node in ast.walk(one)))
    return [call.at(one) for one in given][:1]


def _gives(at: Place, node: ast.AST, model: str) -> bool:
    """Whether a call is given the model: `EMA(model, 0.99)`, `SGD(model.parameters())`."""
    arguments = [*node.args, *(word.value for word in node.keywords)] if isinstance(node, ast.Call) else []
    texts = [at.source.text(one) for one in arguments]
    return any(text == model or text.startswith(f"{model}.") for text in texts)
