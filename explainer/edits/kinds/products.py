"""Edits of values that serve as positions."""

from __future__ import annotations

import ast

from explainer.diagnosis import Edit
from explainer.edits.lines import changed
from explainer.edits.place import Place, as_primary


def subtract_least(at: Place) -> tuple[Edit, ...]:
    """Values less their smallest, in parentheses where an operand stands."""
    whole, parent = as_primary(at), at.parent()
    alone = isinstance(parent, (ast.Assign, ast.Return)) or at.node in getattr(parent, "args", ())
    text = f"{whole} - {whole}.min()"
    return changed(at.source, [(at.span, text if alone else f"({text})")])
