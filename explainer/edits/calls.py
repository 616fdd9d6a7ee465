"""Calls of torch and numpy as they are written: functions of a library, or methods of a tensor."""

from __future__ import annotations

import ast

from explainer.source import called, walked

_LIBRARIES = ("torch", "math", "np", "numpy", "torch.special")


def is_method(call: ast.Call) -> bool:
    """Whether a call is of a tensor's method (`x.log()`), not of a library's function (`torch.log(x)`)."""
    return isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) not in _LIBRARIES


def given_to(call: ast.Call) -> ast.expr | None:
    """What a function of one tensor is given: its first argument, or the tensor whose method it is."""
    return call.func.value if is_method(call) else next(iter(call.args), None)  # type: ignore[attr-defined]


def asks_how_much(node: ast.AST) -> bool:
    """Whether an expression asks how much there is: `len(x)`, `x.size(0)`, `x.shape[0]`."""
    inner = list(walked(node))
    return any(isinstance(one, ast.Call) and called(one) in ("len", "size") for one in inner) or any(
        isinstance(one, ast.Attribute) and one.attr == "shape" for one in inner
    )
