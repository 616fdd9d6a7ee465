"""Edits that guard every operation of one kind in a function: each log that may be given zero, each root."""

from __future__ import annotations

import ast

from explainer.diagnosis import Edit
from explainer.edits.lines import EditError, changed
from explainer.edits.place import Place, as_primary

_LIBRARIES = ("torch", "math", "np", "numpy", "torch.special")


def guard_all(at: Place, method: str) -> tuple[Edit, ...]:
    """`y * p.log() + (1 - y) * torch.log(1 - p)`: a method put behind what each such call of the function is given.

    EditError where there are not several of them.
    """
    if not isinstance(at.node, ast.Call):
        raise EditError("no call stands here")
    scope, name = at.source.function_at(at.node.lineno) or at.source.tree, _name(at.node)
    calls = [one for one in ast.walk(scope) if isinstance(one, ast.Call) and _name(one) == name] if scope else []
    operands = [at.at(operand) for operand in map(_operand, calls) if operand is not None]
    if len(operands) < 2:
        raise EditError("there is only one such call")
    return changed(at.source, [(one.span, f"{_primary(one)}.{method}") for one in operands])


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _operand(call: ast.Call) -> ast.expr | None:
    method = isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) not in _LIBRARIES
    return call.func.value if method else next(iter(call.args), None)  # type: ignore[attr-defined]


def _primary(place: Place) -> str:
    """The operand as a receiver; `(1 - p).log()` has its parentheses outside of the operand's own span."""
    text = place.source.line(place.span.line)
    inside = text[: (place.span.column or 1) - 1].endswith("(") and text[(place.span.end_column or 1) - 1 :][:2] == ")."
    if inside and as_primary(place) != place.text:
        return f"({place.text})"
    return as_primary(place)
