"""Which operand of the failing call a check is about: the one of that name, or the only one that is as was given."""

from __future__ import annotations

import ast
from typing import Any

from explainer.grammar.frames import Clause
from explainer.patterns import Pattern
from explainer.probes.call import Operand, operands
from explainer.probes.scene import Scene
from explainer.probes.tensor import fact_of, short
from explainer.probes.values import is_tensor

_DIMS = Pattern(r"\b(\d+)(?:-?[dD]\b|[- ]?dim)|\bdims? ?=? ?(\d+)$")
_SIZES = Pattern(r"\[([\d, ]*)\]")
_DEVICE = Pattern(r"\b(cpu|cuda(?::\d+)?|meta|mps|xpu)\b", 2)
_NAME = Pattern(r"[A-Za-z_]\w*")
#: C++'s names of dtypes.
_DTYPES = {
    "float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32", "short": "int16",
    "char": "int8", "byte": "uint8", "bool": "bool", "bfloat16": "bfloat16", "complexfloat": "complex64",
    "complexdouble": "complex128",
}  # fmt: skip


def checked_operand(scene: Scene, clause: Clause, kind: str) -> tuple[Any, ast.expr | None] | None:
    """The operand as a fact, with its node; None where no single one is meant."""
    tensors = [one for one in operands(scene) if is_tensor(one.value)]
    names = set(_NAME.findall(clause.subject.lower())) or set(_NAME.findall(clause.asked.lower()))
    named = [one for one in tensors if names & _names(one, one is tensors[0])]
    alike = [one for one in tensors if _is_as_given(one.value, clause.given, kind)]
    both = [one for one in named if any(one is other for other in alike)]
    for found in (both, alike, named if len(tensors) > 1 or not clause.given else []):
        if len(found) == 1:
            node = found[0].node if isinstance(found[0].node, ast.expr) else None
            return fact_of(found[0].name, found[0].value), node
    return None


def _names(one: Operand, first: bool) -> set[str]:
    names = {one.name.lower(), (one.parameter or "").lower(), one.name.lower().rpartition(".")[2]}
    return names | ({"self", "input"} if first and one.parameter is None else set())


def _is_as_given(tensor: Any, given: str, kind: str) -> bool:
    """Whether a tensor has the one property that the message says was given."""
    if kind == "rank":
        found = [int(a or b) for a, b in _DIMS.findall(given)]
        return len(found) == 1 and tensor.dim() == found[0]
    if kind == "device":
        devices = {one.lower() for one in _DEVICE.findall(given)}
        return len(devices) == 1 and str(tensor.device).startswith(next(iter(devices)))
    if kind == "dtype":
        said = {_DTYPES.get(one.lower(), one.lower()) for one in _NAME.findall(given.replace("torch.", ""))}
        dtypes = said & {*_DTYPES.values()}
        return len(dtypes) == 1 and short(tensor.dtype) in dtypes
    sizes = _SIZES.findall(given)
    return kind == "size" and len(sizes) == 1 and sizes[0].replace(" ", "") == ",".join(map(str, tensor.shape))
