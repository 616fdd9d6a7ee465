"""Layers that work in place on what autograd does not let them change: where they are built, all of their kind."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.built import construction
from explainer.probes.files import calls_named, nodes_of
from explainer.probes.module import below_user, module_calls, path_of, root_module, root_name
from explainer.probes.places import enclosing, span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import fields_of
from explainer.source import Source, called, source_of

_ACTIVATIONS = ("ReLU", "ReLU6", "SiLU", "Hardswish", "Hardsigmoid", "Mish", "SELU", "CELU")
_HOOKS = ("register_full_backward_hook", "register_full_backward_pre_hook", "register_module_full_backward_hook")


@probe
def inplace_layer(scene: Scene) -> SpanFact | None:
    """Where the layer is built that was to work in place: the failing call entered it, through containers too.

    `detail`: `type`, `path` below the model; `known`, whether it is built in the user's code (else the failing call is
    the place), `model`, what the user calls the model.
    """
    module = _entered(scene)
    failing = scene.failing
    if module is None or failing is None:
        return None
    built = _constructor(scene, module)
    source, node = built if built is not None else (failing.source, failing.node)
    path = path_of(module, root_module(scene)) or ""
    about: dict[str, Any] = {"type": type(module).__name__, "path": path, "model": root_name(scene)}
    return span_fact(source, node, known=built is not None, **about)


def _entered(scene: Scene) -> Any:
    """The innermost module on the stack, where it works in place."""
    found = [one.module for one in below_user(scene)]
    return found[-1] if found and fields_of(found[-1]).get("inplace") is True else None


def _constructor(scene: Scene, module: Any) -> tuple[Source, ast.AST] | None:
    found = construction(scene, module)
    if found is not None:
        return found
    written = list(_written(scene, type(module).__name__))
    return written[0] if len(written) == 1 else None


def _written(scene: Scene, kind: str) -> Iterator[tuple[Source, ast.Call]]:
    """The calls of the user's that build a layer of a class and tell it to work in place."""
    return ((source, call) for source, call in calls_named(scene, kind) if _told(call))


def _told(call: ast.Call) -> bool:
    """Whether a constructor is given `inplace=...`, or a last `True`; a literal False does not count."""
    words = [word.value for word in call.keywords if word.arg == "inplace"]
    last = words or call.args[-1:]
    if last and isinstance(last[0], ast.Constant):
        return last[0].value is True
    return bool(words)


@probe
def inplace_layers(scene: Scene) -> tuple[SpanFact, ...] | None:
    """All places that build such a layer to work in place, where they are several."""
    module = _entered(scene)
    found = [span_fact(*one) for one in _written(scene, type(module).__name__)] if module is not None else []
    return tuple(found) if len(found) > 1 else None


@probe
def inplace_all(scene: Scene) -> tuple[SpanFact, ...] | None:
    """All that works in place in the user's models: layers told to, and what `forward` methods write by `+=` and such.

    None where it is one place.
    """
    found = []
    for source, node in nodes_of(scene, ast.AST):
        if isinstance(node, ast.Call) and _told(node) and _works_in_place(node):
            found.append(span_fact(source, node))
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            function = source.function_at(node.lineno)
            found += [span_fact(source, node)] if getattr(function, "name", "") == "forward" else []
    return tuple(found) if len(found) > 1 else None


def _works_in_place(call: ast.Call) -> bool:
    """Whether a call says `inplace=`, or is of an activation with a last True."""
    return any(word.arg == "inplace" for word in call.keywords) or called(call) in _ACTIVATIONS


@probe
def backward_hook(scene: Scene) -> SpanFact | None:
    """The one call that registers a full backward hook; `detail.method` is what it calls."""
    found = calls_named(scene, *_HOOKS)
    return span_fact(*found[0], method=called(found[0][1])) if len(found) == 1 else None


@probe
def model_call(scene: Scene) -> SpanFact | None:
    """The statement in which the user's code calls the model, or the loops around it."""
    calls = module_calls(scene)
    if scene.live is None or not calls or calls[0].index == 0:
        return None
    frame = scene.live.frames[calls[0].index - 1]
    source = source_of(frame.file, frame.frame.f_globals)
    loops = enclosing(source, frame.line, (ast.For, ast.While))
    statement = loops[-1] if loops else source.statement_at(frame.line)
    return span_fact(source, statement) if statement is not None else None
