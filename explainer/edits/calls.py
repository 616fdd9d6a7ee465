"""Calls of torch and numpy as they are written: functions of a library, or methods of a tensor."""

from __future__ import annotations

import ast

_LIBRARIES = ("torch", "math", "np", "numpy", "torch.special")


def is_method(call: ast.Call) -> bool:
    """Whether a call is of a tensor's method (`x.log()`), not of a library's function (`torch.log(x)`)."""
    return isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) not in _LIBRARIES


def given_to(call: ast.Call) -> ast.expr | None:
    """What a function of one tensor is given: its first argument, or the tensor whose method it is."""
    return call.func.value if is_method(call) else next(iter(call.args), None)  # type: ignore[attr-defined]
