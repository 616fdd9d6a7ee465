"""Tensors that a list keeps with their graphs, which numpy is then given as numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.bindings import last_name
from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.files import calls_named
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import fields_of, is_tensor, read

_PLAIN = (ast.Name, ast.Attribute, ast.Subscript)


@probe
def listed_tensors(scene: Scene) -> SpanFact | None:
    """What the program's only fitting `append` puts into the list that the failing call was given.

    `detail`: `list`, as the failing call names it; `count` of the tensors in it; `to`, the number or values alone.
    """
    text, rows = _given(scene)
    held = [one for one in rows if is_tensor(one) and one.requires_grad]
    names = _names_of(scene, rows) | {text.rpartition(".")[2]} if held else set()
    calls = [(source, call) for source, call in calls_named(scene, "append") if len(call.args) == 1]
    fitting = [(source, call.args[0]) for source, call in calls if last_name(call.func.value) in names]  # type: ignore[attr-defined]
    if len(fitting) != 1 or not isinstance(fitting[0][1], _PLAIN):
        return None
    source, value = fitting[0]
    alone = "item()" if all(one.numel() == 1 for one in held) else "detach()"
    return span_fact(source, value, list=text, count=len(held), to=f"{source.text(value)}.{alone}")


def _given(scene: Scene) -> tuple[str, list[Any]]:
    """The list that the failing call was given, with its source; empty where there is none."""
    frame, failing = scene.user_frame, scene.failing
    calls = [one for one in ast.walk(failing.node) if isinstance(one, ast.Call)] if failing is not None else []
    given = [one.value if isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Slice) else one
             for call in calls for one in call.args]  # fmt: skip
    for node in given:
        value = read(node, frame.frame) if frame is not None else None
        if isinstance(value, list) and value and failing is not None:
            return failing.source.text(node), value
    return "", []


def _names_of(scene: Scene, rows: list[Any]) -> set[str]:
    """The last names under which the frames, and the objects in them, hold a list: variables, attributes, keys."""
    frames = scene.live.user if scene.live is not None else ()
    return {name for frame in frames for name, value in _entries(frame.locals) if value is rows}


def _entries(names: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in names.items():
        yield name, value
        for inner, one in _parts(value):
            yield inner, one
            yield from _parts(one)


def _parts(value: Any) -> list[tuple[str, Any]]:
    own = value if type(value) is dict else fields_of(value)
    return [(str(name), one) for name, one in list(own.items())[:50]]
