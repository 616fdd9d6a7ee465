"""The device that `torch.load` is told to put a checkpoint on, where the machine does not have it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.call import call_node
from explainer.probes.places import span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.values import fields_of


@probe
def mapped_location(scene: Scene) -> SpanFact | None:
    """The `map_location` that the failing `torch.load` was given; None where it was given none.

    `detail.device` is a name in scope for a device that the machine has, "" without one.
    """
    failing, frame = scene.failing, scene.user_frame
    node = call_node(failing.node) if failing is not None else None
    if failing is None or frame is None or not isinstance(node, ast.Call):
        return None
    given = next((word.value for word in node.keywords if word.arg == "map_location"), None)
    given = given or next(iter(node.args[1:2]), None)
    if given is None or (isinstance(given, ast.Constant) and given.value is None):
        return None
    own = failing.source.text(given)
    usable = (name for name in _devices(frame) if name != own)
    return span_fact(failing.source, given, device=next(usable, ""))


def _devices(frame: LiveFrame) -> Iterator[str]:
    """The names in a frame, then the fields of its `self`, that hold a device other than CUDA."""
    scope = {**frame.frame.f_globals, **frame.locals}
    yield from (name for name, value in scope.items() if _usable(name, value))
    owner = fields_of(frame.locals.get("self")) if "self" in frame.locals else {}
    yield from (f"self.{name}" for name, value in owner.items() if _usable(name, value))


def _usable(name: str, value: Any) -> bool:
    """Whether a name holds the CPU: as a device, or as a string where the name says that it is a device."""
    if type(value).__name__ == "device" and type(value).__module__ == "torch":
        return value.type == "cpu"  # type: ignore[no-any-return]
    return "device" in name.lower() and value == "cpu" if type(value) is str else False
