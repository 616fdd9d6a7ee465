"""Edits of calls that load state."""

from __future__ import annotations

import ast

from explainer.diagnosis import Edit
from explainer.edits.lines import EditError, changed
from explainer.edits.place import Place


def load_all_but(call: Place, layer: str) -> tuple[Edit, ...]:
    """`net.load_state_dict(state)` without the entries of one layer, which keeps what it was initialised with."""
    node = call.node
    if not isinstance(node, ast.Call) or len(node.args) != 1 or any(word.arg != "strict" for word in node.keywords):
        raise EditError("no plain call that loads a state dict stands here")
    kept = f'if not key.startswith("{layer}.")'
    state = f"{{key: value for key, value in {call.source.text(node.args[0])}.items() {kept}}}"
    lenient = [(call.source.span(word.value), "False") for word in node.keywords]
    given = state if lenient else f"{state}, strict=False"
    return changed(call.source, [(call.source.span(node.args[0]), given), *lenient])
