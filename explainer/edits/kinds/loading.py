"""Edits of calls that load: state into a model, samples by workers."""

from __future__ import annotations

import ast

from explainer.diagnosis import Edit
from explainer.edits.lines import EditError, changed, indentation, inserted, joined
from explainer.edits.place import Place

#: The options of a DataLoader that only workers know, and what they are without any.
_FOR_WORKERS = {"prefetch_factor": "None", "persistent_workers": "False", "multiprocessing_context": "None"}


def only_with_workers(call: Place) -> tuple[Edit, ...]:
    """`prefetch_factor=4` -> `prefetch_factor=4 if workers > 0 else None`; where no workers are named, without it."""
    node = call.node
    words = {word.arg: word.value for word in node.keywords if word.arg} if isinstance(node, ast.Call) else {}
    workers = call.source.text(words["num_workers"]) if "num_workers" in words else "0"
    changes = []
    for name in [one for one in words if one in _FOR_WORKERS]:
        text, plain = call.source.text(words[name]), _FOR_WORKERS[name]
        new = plain if workers.isdigit() else f"{text} if {workers} > 0 else {plain}"
        changes.append((call.source.span(words[name]), new))
    if not changes:
        raise EditError("no option is for workers")
    return changed(call.source, changes)


def load_all_but(call: Place, layer: str = "", ending: str = "") -> tuple[Edit, ...]:
    """`net.load_state_dict(state)` without some entries, which keep what they were initialised with.

    Those of one `layer`, else those whose keys have an `ending`.
    """
    node = call.node
    if not isinstance(node, ast.Call) or len(node.args) != 1 or any(word.arg != "strict" for word in node.keywords):
        raise EditError("no plain call that loads a state dict stands here")
    kept = f'if not key.startswith("{layer}.")' if layer else f'if not key.endswith("{ending}")'
    state = f"{{key: value for key, value in {call.source.text(node.args[0])}.items() {kept}}}"
    lenient = [(call.source.span(word.value), "False") for word in node.keywords]
    given = state if lenient else f"{state}, strict=False"
    return changed(call.source, [(call.source.span(node.args[0]), given), *lenient])


def load_changed(at: Place, key: str, text: str) -> tuple[Edit, ...]:
    """`net.load_state_dict(state)` with one entry changed before: `text` makes another `positions` of `positions`."""
    statement, name = at.statement().node, "state"
    if isinstance(at.node, ast.Name):
        name = at.text
    lines = [f"{name} = dict({at.text})", f'positions = {name}["{key}"]', *text.splitlines()]
    indent = indentation(at.source, statement.lineno)
    new = "\n".join(indent + line for line in [*lines, f'{name}["{key}"] = positions'])
    before = inserted(at.source, statement.lineno, new)
    return before if name == at.text else joined(at.source, before, changed(at.source, [(at.span, name)]))
