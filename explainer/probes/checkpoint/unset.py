"""Buffers and parameters that a model registers as None and makes at its first input: a fresh one cannot load them."""

from __future__ import annotations

import ast
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.call import call_node
from explainer.probes.checkpoint.loading import load_frame, state_of
from explainer.probes.checkpoint.resized import module_at
from explainer.probes.files import calls_named
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import MISSING, fields_of, is_tensor
from explainer.source import as_attributes

_REGISTERING = ("register_buffer", "register_parameter")


@probe
def unset_entry(scene: Scene) -> SpanFact | None:
    """The call that registers as None the first of the checkpoint's entries that a model does not know.

    None unless all that it does not know are such, and it knows all others. `detail`: `key`, `name`, `kind` (the class
    that registers it), `count` of such entries, `statements` that give the model tensors of the saved sizes.
    """
    frame = load_frame(scene)
    given = frame.locals.get("state_dict") if frame is not None else None
    if frame is None or not isinstance(given, dict):
        return None
    model, own = frame.locals["self"], state_of(frame.locals["self"])
    unknown = [key for key in given if key not in own]
    if not unknown or set(own) - set(given) or not all(_is_unset(model, key, given[key]) for key in unknown):
        return None
    path, _, name = unknown[0].rpartition(".")
    made = [(source, call) for source, call in calls_named(scene, *_REGISTERING) if _names(call, name)]
    statements = _statements(scene, unknown)
    if len(made) != 1 or not statements:
        return None
    kind = type(module_at(model, path)).__name__
    return span_fact(*made[0], key=unknown[0], name=name, kind=kind, count=len(unknown), statements=statements)


def _is_unset(model: Any, key: str, saved: Any) -> bool:
    path, _, name = key.rpartition(".")
    fields = fields_of(module_at(model, path))
    held = [(fields.get(kind) or {}).get(name, MISSING) for kind in ("_buffers", "_parameters")]
    return None in held and is_tensor(saved)


def _names(call: ast.Call, name: str) -> bool:
    """`register_buffer("mean", None)`."""
    given = [one.value for one in call.args if isinstance(one, ast.Constant)]
    return given[:2] == [name, None]


def _statements(scene: Scene, keys: list[str]) -> str:
    """`model.norm.mean = torch.empty_like(state["norm.mean"])`, a line for each key."""
    failing = scene.failing
    call = call_node(failing.node) if failing is not None else None
    if failing is None or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or not call.args:
        return ""
    owner, state = failing.source.text(call.func.value), failing.source.text(call.args[0])
    return "\n".join(f'{owner}{as_attributes(key)} = torch.empty_like({state}["{key}"])' for key in keys)
