"""A tensor, or its shape, that the failing line unpacks into another number of names."""

from __future__ import annotations

import ast

from explainer.facts import TensorFact
from explainer.probes import probe
from explainer.probes.scene import Scene
from explainer.probes.tensor import tensor_fact
from explainer.probes.values import is_tensor, read
from explainer.source import source_of


@probe
def unpacked_shape(scene: Scene) -> TensorFact | None:
    """`x` of `b, c, h, w = x.shape`, or of `= x.size()`, in the line that failed."""
    value = _value(scene)
    owner = value.func if isinstance(value, ast.Call) and not value.args else value
    asked = isinstance(owner, ast.Attribute) and owner.attr == ("size" if owner is not value else "shape")
    return _tensor(scene, owner.value) if asked and isinstance(owner, ast.Attribute) else None


@probe
def unpacked_tensor(scene: Scene) -> TensorFact | None:
    """`edges` of `src, dst = edges`, where it is a tensor, in the line that failed."""
    value = _value(scene)
    return _tensor(scene, value) if value is not None else None


def _value(scene: Scene) -> ast.expr | None:
    """What the failing statement unpacks."""
    frame = scene.user_frame
    if frame is None:
        return None
    statement = source_of(frame.file, frame.frame.f_globals).statement_at(frame.line)
    names = statement.targets[0] if isinstance(statement, ast.Assign) else None
    return statement.value if isinstance(statement, ast.Assign) and isinstance(names, ast.Tuple) else None


def _tensor(scene: Scene, node: ast.expr) -> TensorFact | None:
    frame = scene.user_frame
    value = read(node, frame.frame) if frame is not None else None
    if frame is None or not is_tensor(value):
        return None
    source = source_of(frame.file, frame.frame.f_globals)
    return tensor_fact(source.text(node), value, source.span(node))
