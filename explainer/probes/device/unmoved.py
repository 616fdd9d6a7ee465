"""A whole model that was never moved to the device of its inputs: where it was made, and where it was handed on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.call import call_node
from explainer.probes.makers import Way, ways
from explainer.probes.module import Called, module_calls, path_of
from explainer.probes.owners import parameters_of
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import fields_of, is_tensor
from explainer.source import Source


@probe
def unmoved_model(scene: Scene) -> SpanFact | None:
    """What the user's code calls the outermost model that is on the CPU as a whole, while its inputs are elsewhere.

    `detail`: `type`, `parameters` (how many), `given` the source of its first input, `device` that of its inputs.
    """
    found = _called(scene)
    used = _use(scene, found) if found is not None else None
    if found is None or used is None:
        return None
    source, node = used
    given = source.text(node.args[0]) if node.args else ""
    count = sum(1 for _ in parameters_of(found.module))
    about: dict[str, Any] = {"type": type(found.module).__name__, "parameters": count, "given": given}
    return span_fact(source, node.func, **about, device=next(iter(_devices(found))))


def _called(scene: Scene) -> Called | None:
    """The outermost model all of whose parameters are on the CPU and none of whose inputs are.

    None where a model around it holds it as a part: then it is a part that was not moved.
    """
    calls = module_calls(scene)
    for one in calls:
        devices = {str(parameter.device) for parameter in parameters_of(one.module)}
        inside = one is not calls[0] and path_of(one.module, calls[0].module) is not None
        if devices == {"cpu"} and _devices(one) and "cpu" not in _devices(one):
            layer = type(one.module).__module__.startswith("torch.") and not fields_of(one.module).get("_modules")
            return None if inside or layer else one
    return None


def _devices(called: Called) -> set[str]:
    given = [*called.args, *called.kwargs.values()]
    inner = [one for value in given if type(value) in (list, tuple) for one in value]
    return {str(value.device) for value in (*given, *inner) if is_tensor(value)}


def _use(scene: Scene, found: Called) -> tuple[Source, ast.Call] | None:
    """The user's call of a model."""
    failing = scene.live.frames[found.index - 1].failing() if scene.live is not None and found.index else None
    node = call_node(failing.node) if failing is not None else None
    return (failing.source, node) if failing is not None and isinstance(node, ast.Call) else None


def _way(scene: Scene) -> Way | None:
    """The way from the call of the unmoved model to what made it; None where there is none, or more than one."""
    return scene.once("unmoved model", lambda: _only_way(scene))


def _only_way(scene: Scene) -> Way | None:
    found = _called(scene)
    used = _use(scene, found) if found is not None else None
    every = list(ways(scene, used[0], used[1].func)) if used is not None else []
    made = {(way[-1][0].file, way[-1][1].lineno): way for way in every if isinstance(way[-1][1], ast.Call)}  # type: ignore
    return next(iter(made.values())) if len(made) == 1 else None


@probe
def unmoved_made(scene: Scene) -> SpanFact | None:
    """The call that made the model of `unmoved_model`; `detail.device` is what can be written for a device there."""
    way = _way(scene)
    return _placed(*way[-1]) if way is not None else None


@probe
def unmoved_handed(scene: Scene) -> SpanFact | None:
    """Where the model of `unmoved_model` was handed on, nearest to what made it, and a device is at hand."""
    way = _way(scene)
    facts: Iterator[Any] = (_placed(*one) for one in reversed(way[1:-1])) if way is not None else iter(())
    return next((one for one in facts if one["device"]), None)


def _placed(source: Source, node: ast.AST) -> SpanFact:
    from explainer.edits.kinds.devices import devices_at
    from explainer.edits.place import Place

    found = list(devices_at(Place(source, node)))  # type: ignore[arg-type]
    named = next((one for one in found if one[:1] not in "\"'"), found[0] if found else "")
    return span_fact(source, node, device=named)
