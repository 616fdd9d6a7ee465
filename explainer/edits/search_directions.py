"""Candidates for the state of an encoder whose layers or directions are more than the decoder has."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.edits import arguments
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Step
from explainer.edits.place import Place, as_operand
from explainer.edits.sites import arriving, layers_hit
from explainer.edits.slices import operands, trunk

_RECURRENT = ("GRU", "LSTM", "RNN")


def both_ways(evidence: Evidence) -> Iterator[Candidate]:
    """`nn.Linear(hidden, n)` -> `nn.Linear(2 * hidden, n)` behind a recurrent layer that goes both ways."""
    every = operands(evidence)
    for layer, crash in layers_hit(evidence) if every else ():
        need = arriving(layer, crash)
        step = next((one for one in trunk(evidence, every[0].start, 6) if _recurrent(one)), None)
        if need is None or step is None or step.layer is None or not _both_ways(step) or not step.layer.calls:
            continue
        call, made = layer.calls[0].place, step.layer.calls[0].place
        node = arguments.argument_node(call, need[0])
        if node is not None and 2 * (layer.value(need[0]) or 0) == need[1] == step.shape[-1]:
            plain = isinstance(node, ast.Constant) and _count(made, call) == "2"
            new = str(need[1]) if plain else f"{_count(made, call)} * {as_operand(call.source.text(node))}"
            words: dict[str, Any] = {"new": new, "layer": step.layer.type}
            yield from evidence.replaced(call.at(node), new, "set-argument", "both-ways", call, **words)


def _count(made: Place, call: Place) -> str:
    """How many directions a recurrent layer has, as the function that builds both layers can say it."""
    words: Any = made.node
    given = next((one.value for one in words.keywords if one.arg == "bidirectional"), None)
    function = made.source.function_at(made.span.line)
    together = made.source is call.source and function is call.source.function_at(call.span.line)
    if given is None or isinstance(given, ast.Constant) or not together:
        return "2"
    return f"(2 if {made.source.text(given)} else 1)"


def _recurrent(step: Step) -> bool:
    return step.layer is not None and step.layer.type in _RECURRENT


def _both_ways(step: Step) -> bool:
    """Whether the layer was built with `bidirectional=True`, or with a name for it."""
    call: Any = step.layer.calls[0].place.node if step.layer is not None and step.layer.calls else None
    given = [word.value for word in call.keywords if word.arg == "bidirectional"] if isinstance(call, ast.Call) else []
    return any(not isinstance(one, ast.Constant) or one.value is True for one in given)
