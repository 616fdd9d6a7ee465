"""Candidates for the state that a recurrent layer begins with: the dimension of its layers put before the others."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.methods import insert_methods
from explainer.edits.place import Place, as_primary, bound_above
from explainer.patterns import Pattern
from explainer.source import called

_FLAT = Pattern(r"For batched 3-D input, hx (?:and cx )?should also be 3-D but got \(?2-D(?:, 2-D\))? tensors?")
_METHOD = "unsqueeze(0)"


def with_layers(evidence: Evidence) -> Iterator[Candidate]:
    """`return h, c` -> `return h.unsqueeze(0), c.unsqueeze(0)`: states [batch, hidden] of a layer of one direction."""
    state = _state(evidence) if _FLAT.search(evidence.message) else None
    if state is None:
        return
    for made in _made(state):
        yield from _unsqueezed(evidence, made)
    pair = "cx" in evidence.message
    if not isinstance(state.node, ast.Tuple):
        each = f"tuple(one.{_METHOD} for one in {state.text})"
        new = each if pair else f"{as_primary(state)}.{_METHOD}"
        words: dict[str, Any] = {"new": new}
        yield from evidence.replaced(state, new, "replace", "begun", **words)


def _state(evidence: Evidence) -> Place | None:
    """The state that the failing call of a recurrent layer of one layer and direction is given."""
    layer = evidence.on_stack[-1] if evidence.on_stack else None
    place = evidence.frames[-1].place if evidence.frames else None
    built: Any = layer.calls[0].place.node if layer is not None and layer.calls else None
    if layer is None or layer.type not in ("LSTM", "GRU", "RNN") or not isinstance(built, ast.Call):
        return None
    several = (layer.value("num_layers") or 1) > 1 or any(word.arg == "bidirectional" for word in built.keywords)
    node = place.node if place is not None else None
    if several or place is None or not isinstance(node, ast.Call):
        return None
    given = [*node.args[1:], *(word.value for word in node.keywords if word.arg == "hx")]
    return place.at(given[0]) if len(given) == 1 else None


def _made(state: Place) -> Iterator[list[Place]]:
    """Where the parts of a state are made: in what a function returns, in the call itself."""
    node: Any = state.node
    if isinstance(node, ast.Tuple):
        yield [state.at(one) for one in node.elts]
        return
    if isinstance(node, ast.Name):
        bound = bound_above(state.source.scope_at(node.lineno), node.id, node.lineno)
        node = bound.value if bound is not None else None
    if isinstance(node, ast.Tuple):
        yield [state.at(one) for one in node.elts]
    elif isinstance(node, ast.Call):
        yield from _returned(state, called(node))


def _returned(state: Place, name: str) -> Iterator[list[Place]]:
    """The parts of what the one function of a name in the file returns, where it returns at one place."""
    functions = [one for one in state.source.nodes() if isinstance(one, ast.FunctionDef) and one.name == name]
    ways = [one for each in functions for one in ast.walk(each) if isinstance(one, ast.Return)]
    if len(functions) == len(ways) == 1 and ways[0].value is not None:
        given = ways[0].value
        yield [state.at(one) for one in (given.elts if isinstance(given, ast.Tuple) else [given])]


def _unsqueezed(evidence: Evidence, parts: list[Place]) -> Iterator[Candidate]:
    new = ", ".join(f"{as_primary(one)}.{_METHOD}" for one in parts)
    edits = partial(insert_methods, tuple(parts), _METHOD)
    words: dict[str, Any] = {"new": " ".join(new.split())[:80]}
    yield from evidence.made(edits, "insert-method", parts[0], "begun", **words)
