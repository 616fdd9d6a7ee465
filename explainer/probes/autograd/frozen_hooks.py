"""Hooks on activations that have no graph: neither the layers before them nor the input of the model require grad."""

from __future__ import annotations

import ast
from typing import Any

from explainer.edits.place import Place, as_primary
from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.autograd.cuts import block_around
from explainer.probes.autograd.freezing import freezings
from explainer.probes.call import call_node
from explainer.probes.module import Called, module_calls, path_of
from explainer.probes.places import span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.values import MISSING, is_tensor, read
from explainer.source import called


@probe
def hooked_frozen(scene: Scene) -> SpanFact | None:
    """The call of a model with plain data, where a forward hook wants a gradient of a frozen layer.

    `detail`: `input`, what the model is given, and `tracked`, the same as a leaf that requires grad; `hook`, the call
    that failed; `layer` and `model`, the frozen layer's path and the model's class; `owner`, the class of the hook's
    object; `frozen`, the places that freeze parameters, each `file:line`.
    """
    calls, frame = module_calls(scene), scene.user_frame
    if frame is None or scene.live is None or not calls or calls[0].index == 0 or not _in_hook(scene, frame, calls[-1]):
        return None
    outer = scene.live.frames[calls[0].index - 1]
    given = _given(outer, calls[0])
    module, root = calls[-1].module, calls[0].module
    positions = [{"file": one.file, "line": one.line} for one in reversed(scene.live.user)]
    if given is None or any(one.requires_grad for one in module.parameters()) or block_around(positions) is not None:
        return None
    failing, argument = given
    call, hook = call_node(failing.node), call_node(scene.failing.node)  # type: ignore[union-attr]
    place = Place(failing.source, argument)
    return span_fact(
        failing.source, call, input=place.text, tracked=f"{as_primary(place)}.clone().requires_grad_()",
        hook=scene.failing.source.text(hook), layer=path_of(module, root) or type(module).__name__,  # type: ignore
        model=type(root).__name__, owner=_owner(frame), frozen=_frozen(scene),
        argument=span_fact(failing.source, argument),
    )  # fmt: skip


def _in_hook(scene: Scene, frame: LiveFrame, last: Called) -> bool:
    """Whether the failing call is made by a function that torch called for a layer, of its output."""
    frames, failing = scene.live.frames if scene.live is not None else [], scene.failing
    node: Any = call_node(failing.node) if failing is not None else None
    if not isinstance(node, ast.Call) or called(node) not in ("register_hook", "retain_grad"):
        return False
    at = frames.index(frame)
    caller = next((one for one in reversed(frames[:at]) if "self" in one.locals), None)
    value = read(node.func.value, frame.frame) if isinstance(node.func, ast.Attribute) else MISSING
    own = caller is not None and not frames[at - 1].user and caller.locals["self"] is last.module
    return own and frame.locals.get("self") is not last.module and is_tensor(value) and not value.requires_grad


def _given(outer: LiveFrame, call: Called) -> Any:
    """The failing expression of a frame that calls a model, and the argument that holds a tensor without grad."""
    failing = outer.failing() if outer.user else None
    node: Any = call_node(failing.node) if failing is not None else None
    tensors = [one for one in call.args if is_tensor(one) and one.is_floating_point()]
    if failing is None or not isinstance(node, ast.Call) or len(node.args) != len(call.args) or not tensors:
        return None
    if any(one.requires_grad for one in tensors):
        return None
    argument = node.args[next(at for at, one in enumerate(call.args) if one is tensors[0])]
    return None if isinstance(argument, ast.Starred) else (failing, argument)


def _owner(frame: LiveFrame) -> str:
    owner = frame.locals.get("self")
    return type(owner).__name__ if owner is not None else ""


def _frozen(scene: Scene) -> str:
    places = [f"{one.source.file.rpartition('/')[-1]}:{one.node.lineno}" for one in freezings(scene)]
    return ", ".join(dict.fromkeys(places))
