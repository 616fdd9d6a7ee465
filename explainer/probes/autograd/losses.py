"""Losses that are layers: where the one was made whose call gave a value."""

from __future__ import annotations

import ast

from explainer.bindings import last_name
from explainer.edits.place import place_of
from explainer.facts import NanFact, SpanFact
from explainer.probes import probe
from explainer.probes.files import sources
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import called


@probe
def loss_made(scene: Scene, of: NanFact | None = None, kind: str = "") -> SpanFact | None:
    """The one constructor of this kind that gave its name or attribute to the layer which an operation calls.

    `detail.name` is that name.
    """
    node = place_of(scene.source, of).node if of is not None else None
    name = last_name(node.func) if isinstance(node, ast.Call) else ""
    found = [
        (source, one.value)
        for source in (sources(scene) if name else ())
        for one in source.nodes()
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call) and called(one.value) == kind
        if any(last_name(target) == name for target in one.targets)
    ]
    return span_fact(*found[0], name=name) if len(found) == 1 else None
