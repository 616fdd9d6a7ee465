"""Gradients asked for inside the backward of a custom Function, where nothing is recorded."""

from __future__ import annotations

import ast

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.origin import last_binding
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import called


@probe
def inner_gradient(scene: Scene) -> SpanFact | None:
    """What the failing `grad` or `backward` derives, where the backward of a custom Function calls it.

    `detail`: `owner`, the Function's class; `asks`, the name of the function that asks.
    """
    frame, failing = scene.user_frame, scene.failing
    owner = _custom(scene)
    function = failing.source.function_at(frame.line) if frame is not None and failing is not None else None
    if failing is None or frame is None or not owner or not isinstance(function, ast.FunctionDef):
        return None
    calls = [one for one in ast.walk(failing.node) if isinstance(one, ast.Call) and called(one) in ("grad", "backward")]
    given = calls[0].args[0] if calls and calls[0].args else None
    bound = last_binding(failing.source, frame, given.id) if isinstance(given, ast.Name) else None
    place = bound if isinstance(bound, ast.Assign) else given or failing.node
    return span_fact(failing.source, place, owner=owner, asks=function.name)


@probe
def asking_function(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """The `def` of the function that asks for gradients there."""
    source = scene.source(of.span.file) if of is not None else None
    function = source.function_at(of.span.line) if source is not None and of is not None else None
    return span_fact(source, function) if source is not None and isinstance(function, ast.FunctionDef) else None


def _custom(scene: Scene) -> str:
    """The class of a custom Function whose backward is on the stack."""
    for frame in scene.crash.frames:
        source = scene.source(frame.file) if frame.user and frame.function.endswith("backward") else None
        owner = source.class_at(frame.line) if source is not None else None
        bases = [ast.unparse(one).rpartition(".")[2] for one in owner.bases] if owner is not None else []
        if owner is not None and "Function" in bases:
            return owner.name
    return ""
