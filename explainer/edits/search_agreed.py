"""Candidates for a size that two parts of a model take from different settings: both get it from the same one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place, bound_above
from explainer.edits.shapes import BROADCAST
from explainer.edits.slices import Operand, chain, operands

_MAKING = (
    "arange",
    "linspace",
    "zeros",
    "ones",
    "randn",
    "rand",
    "empty",
    "full",
    "eye",
    "hann_window",
    "hamming_window",
)
_MOST = 8


def one_setting(evidence: Evidence) -> Iterator[Candidate]:
    """`dim = cfg.width // cfg.heads` -> `dim = cfg.rotary_dim`, which the tensor that it meets was cut to."""
    crash = evidence.crash
    every = operands(evidence) if crash is not None and crash.function in (*BROADCAST, "cat") else []
    for one, other in ((one, other) for one in every for other in every if one is not other):
        for setting in _settings(evidence, one):
            for bound in _decided(evidence, other, setting):
                words: dict[str, Any] = {"new": setting, "old": bound.text[:48]}
                yield from evidence.replaced(bound, setting, "replace", "one-setting", **words)


def _settings(evidence: Evidence, operand: Operand) -> list[str]:
    """The settings, `cfg.rotary_dim`, that attributes in the slices and views behind an operand were given."""
    found: dict[str, None] = {}
    for step in chain(evidence, operand.start, _MOST):
        cut = step.function in ("__getitem__", "view", "reshape", "narrow", "split", "chunk", "unflatten")
        for node in ast.walk(step.place.node) if cut and step.place is not None else ():
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
                found.update(dict.fromkeys(_given(step.place, ast.unparse(node))))  # type: ignore[arg-type]
    return list(found)


def _given(place: Place, attribute: str) -> Iterator[str]:
    """What an attribute of the class around a place is set to, where it is an entry of settings: `cfg.rotary_dim`."""
    owner = place.source.class_at(place.node.lineno)
    for node in ast.walk(owner) if owner is not None else ():
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == attribute and _entry(node.value):
            yield place.source.text(node.value)


def _entry(node: ast.expr) -> bool:
    """Whether an expression is an entry of a named object: `cfg.rotary_dim`, `cfg["rotary_dim"]`."""
    inner = node.value if isinstance(node, (ast.Attribute, ast.Subscript)) else None
    return isinstance(inner, ast.Name) and inner.id != "self"


def _decided(evidence: Evidence, operand: Operand, setting: str) -> Iterator[Place]:
    """The expressions bound to the names that a tensor behind an operand was made with, where the setting is known."""
    root = setting.split(".")[0].split("[")[0]
    for step in chain(evidence, operand.start, 4 * _MOST):
        place = step.place if step.function in _MAKING else None
        function: Any = place.source.function_at(place.node.lineno) if place is not None else None
        if place is None or function is None or root not in [one.arg for one in function.args.args]:
            continue
        for name in (one.id for one in ast.walk(place.node) if isinstance(one, ast.Name)):
            bound = bound_above(function, name, place.node.lineno)
            if bound is not None and place.source.text(bound.value) != setting:
                yield place.at(bound.value)
