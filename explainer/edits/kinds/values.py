"""Edits that keep the values of a result and go on computing with the result itself."""

from __future__ import annotations

import ast

from explainer.diagnosis import Edit
from explainer.edits.lines import EditError, changed, indentation
from explainer.edits.place import Place, as_primary


def keep_values(at: Place) -> tuple[Edit, ...]:
    """`self.last = f(x)` -> `last = f(x)`, then `self.last = last.detach()`; below, its function reads `last`.

    Where the function reads it no more: `self.last = f(x).detach()`.
    """
    source, statement = at.source, at.statement().node
    target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    function = source.function_at(statement.lineno)
    if not isinstance(target, ast.Attribute) or function is None or not isinstance(at.node, ast.expr):
        raise EditError("no attribute of an object is set in a function here")
    whole, name = source.text(target), target.attr
    below = [one for one in ast.walk(function) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load)
             and source.text(one) == whole and one.lineno > (statement.end_lineno or 0)]  # fmt: skip
    if not below:
        return changed(source, [(at.span, f"{as_primary(at)}.detach()")])
    if any(isinstance(one, (ast.Name, ast.arg)) and name in (getattr(one, "id", ""), getattr(one, "arg", ""))
           for one in ast.walk(function)):  # fmt: skip
        raise EditError(f"the function has another {name}")
    indent = indentation(source, statement.lineno)
    apart = f"{name} = {at.text}\n{indent}{whole} = {name}.detach()"
    return changed(source, [(source.span(statement), apart), *((source.span(one), name) for one in below)])
