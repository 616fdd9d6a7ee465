"""A number that a tensor is filled with, and that its dtype cannot hold."""

from __future__ import annotations

import ast
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.call import operands
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import is_tensor

_PLAIN = (ast.Name, ast.Attribute, ast.Subscript)


@probe
def overflowing_fill(scene: Scene) -> SpanFact | None:
    """The number of the failing call that is outside the range of the tensor it goes into.

    `detail`: `value`, `tensor` and its `dtype`, `bound` (the end of the range beyond which the number lies), and `to`,
    the expression that asks the dtype for it.
    """
    found = operands(scene)
    tensor = next((one for one in found if is_tensor(one.value)), None)
    number = next((one for one in found if type(one.value) in (int, float)), None)
    if tensor is None or number is None or scene.failing is None or number.node is None:
        return None
    info = _range(tensor.value)
    if info is None or info[1] <= number.value <= info[2]:
        return None
    name = "min" if number.value < info[1] else "max"
    asked = f"{scene.failing.source.text(tensor.node)}.dtype" if isinstance(tensor.node, _PLAIN) else tensor.value.dtype
    detail = {"value": number.value, "tensor": tensor.name, "dtype": str(tensor.value.dtype).removeprefix("torch.")}
    bound = info[1] if name == "min" else info[2]
    return span_fact(scene.failing.source, number.node, **detail, bound=bound, to=f"torch.{info[0]}({asked}).{name}")


def _range(tensor: Any) -> tuple[str, float, float] | None:
    """The function that tells a dtype's range, and its ends; None of a dtype that has none."""
    import torch

    if tensor.is_floating_point():
        about = torch.finfo(tensor.dtype)
        return "finfo", about.min, about.max
    if tensor.is_complex() or tensor.dtype is torch.bool:
        return None
    whole = torch.iinfo(tensor.dtype)
    return "iinfo", whole.min, whole.max
