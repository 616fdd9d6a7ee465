"""Candidates for layers that were put in another's place after the model was built: the norm behind them goes along."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Layer
from explainer.edits.lines import EditError
from explainer.edits.place import Place
from explainer.edits.sites import LEAVING, arriving, layers_hit
from explainer.edits.slices import trunk
from explainer.edits.statements import insert_statement, nn_name

_NORMS = ("BatchNorm", "InstanceNorm", "LayerNorm", "RMSNorm")


def with_norm(evidence: Evidence) -> Iterator[Candidate]:
    """`model.convs[i] = slim(...)`, then `model.norms[i] = nn.BatchNorm2d(model.convs[i].out_channels)`."""
    for norm, step in layers_hit(evidence):
        need = arriving(norm, step) if norm.type.startswith(_NORMS) else None
        behind = trunk(evidence, step.inputs[0] if step.inputs else None, 4)
        before = next((one.layer for one in behind if one.layer is not None and one.layer.type in LEAVING), None)
        if need is None or before is None or before.value(LEAVING[before.type][0]) != need[1]:
            continue
        for place, target in _put_in_place(before):
            beside = _beside(norm, target)
            if beside:
                width = f"{ast.unparse(target)}.{LEAVING[before.type][0]}"
                text = f"{beside} = {nn_name(place)}.{norm.type}({width})"
                words: dict[str, Any] = {"what": ast.unparse(target), "layer": norm.type, "new": text}
                edits = partial(insert_statement, text, after=place)
                yield from evidence.made(edits, "insert-statement", place, "norm-of-replaced", **words)


def _put_in_place(layer: Layer) -> Iterator[tuple[Place, ast.Attribute | ast.Subscript]]:
    """The statements that put a layer, made by a function for it, into a model from outside: `model.convs[i] = ...`."""
    for call in layer.calls[1:]:
        try:
            statement = call.place.statement()
        except EditError:
            continue
        target = statement.node.targets[0] if isinstance(statement.node, ast.Assign) else None
        if isinstance(target, (ast.Attribute, ast.Subscript)) and not ast.unparse(target).startswith("self."):
            yield statement, target


def _beside(norm: Layer, target: ast.Attribute | ast.Subscript) -> str:
    """`model.norms[i]` for `model.convs[i]`, by the attribute that the norm's own class keeps it in; else empty."""
    held = target.value if isinstance(target, ast.Subscript) else target
    own = _kept_in(norm)
    if not isinstance(held, ast.Attribute) or not own or own == held.attr:
        return ""
    index = f"[{ast.unparse(target.slice)}]" if isinstance(target, ast.Subscript) else ""
    return f"{ast.unparse(held.value)}.{own}{index}"


def _kept_in(layer: Layer) -> str:
    """The attribute of `self` that a layer is assigned or appended to where it is built; empty where there is none."""
    if not layer.calls:
        return ""
    try:
        node: Any = layer.calls[0].place.statement().node
    except EditError:
        return ""
    held = node.targets[0] if isinstance(node, ast.Assign) else getattr(getattr(node, "value", None), "func", None)
    if isinstance(held, ast.Attribute) and held.attr == "append":
        held = held.value
    own = isinstance(held, ast.Attribute) and isinstance(held.value, ast.Name) and held.value.id == "self"
    return held.attr if own and isinstance(held, ast.Attribute) else ""
