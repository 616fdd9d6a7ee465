"""Edits that guard every operation of one kind in a function: each log that may be given zero, each root."""

from __future__ import annotations

import ast
import dataclasses

from explainer.diagnosis import Edit, Span
from explainer.edits.calls import given_to
from explainer.edits.lines import EditError, changed
from explainer.edits.place import PRIMARY, Place, as_primary, enclosed
from explainer.source import called, walked


def guard_all(at: Place, method: str) -> tuple[Edit, ...]:
    """`y * p.log() + (1 - y) * torch.log(1 - p)`: a method put behind what each such call of the function is given.

    EditError where there are not several of them.
    """
    if not isinstance(at.node, ast.Call):
        raise EditError("no call stands here")
    scope, name = at.source.scope_at(at.node.lineno), called(at.node)
    calls = [one for one in walked(scope) if isinstance(one, ast.Call) and called(one) == name] if scope else []
    operands = [at.at(operand) for operand in map(given_to, calls) if operand is not None]
    if len(operands) < 2:
        raise EditError("there is only one such call")
    return changed(at.source, [_guarded(one, method) for one in operands])


def _guarded(place: Place, method: str) -> tuple[Span, str]:
    """A span and the text for it: an operand in parentheses of its own keeps them, and the method goes behind."""
    if isinstance(place.node, PRIMARY) or not enclosed(place):
        return place.span, f"{as_primary(place)}.{method}"
    line, column = place.span.end_line or place.line, (place.span.end_column or 1) + 1
    return dataclasses.replace(place.span, line=line, column=column, end_line=line, end_column=column), f".{method}"
