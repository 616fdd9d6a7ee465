"""Edits of the statements that take batches from a loader: an iterator begun again, a batch read by its keys."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence

from explainer.diagnosis import Edit
from explainer.edits.lines import EditError, changed, indentation, inserted, joined, relined
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


def read_keys(at: Place, names: Sequence[str], keys: Sequence[str]) -> tuple[Edit, ...]:
    """`for x, y in loader:` -> `for batch in loader:`, its body begun with `x, y = batch["x"], batch["y"]`.

    `at` is the tuple of names that a `for` or an assignment unpacks into.
    """
    statement = at.statement()
    node, source = statement.node, at.source
    whole = next(one for one in ("batch", "sample", "entries") if one not in names)
    read = lambda name: ", ".join(f'{name}["{key}"]' for key in keys)  # noqa: E731
    if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Name, ast.Attribute)):
        return changed(source, [(source.span(node.value), read(source.text(node.value)))])
    line = f"{', '.join(names)} = {read(whole)}"
    if isinstance(node, ast.Assign):
        target = changed(source, [(at.span, whole)])
        below = indentation(source, node.lineno) + line
        return joined(source, target, inserted(source, (node.end_lineno or node.lineno) + 1, below))
    if not isinstance(node, ast.For):
        raise EditError("nothing is unpacked here")
    first = node.body[0]
    target = changed(source, [(at.span, whole)])
    return joined(source, target, inserted(source, first.lineno, indentation(source, first.lineno) + line))
