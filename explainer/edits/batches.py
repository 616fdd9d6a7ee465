"""Edits of the statements that take batches from a loader: an iterator begun again, a batch read by its keys."""

from __future__ import annotations

import ast
import textwrap

from explainer.diagnosis import Edit
from explainer.edits.lines import EditError, indentation, relined
from explainer.edits.place import Place


def restart_iterator(at: Place, loader: str) -> tuple[Edit, ...]:
    """`x, y = next(batches)` made to begin another pass over the loader where the last one is over."""
    statement = at.statement()
    node, text = statement.node, statement.text
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call) or not node.value.args:
        raise EditError("no statement takes a batch here")
    again = f"{at.source.text(node.value.args[0])} = iter({loader})"
    text = f"try:\n    {text}\nexcept StopIteration:  # the pass is over: begin the next one\n    {again}\n    {text}"
    indented = textwrap.indent(text, indentation(at.source, node.lineno))
    return relined(at.source, node.lineno, node.end_lineno or node.lineno, indented)
