"""A model that is built with other arguments where it is restored than where the program built the one it saved."""

from __future__ import annotations

import ast

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.call import call_node
from explainer.probes.checkpoint import load_frame
from explainer.probes.makers import makers
from explainer.probes.places import span_fact
from explainer.probes.restored import saved_models
from explainer.probes.scene import Scene
from explainer.source import Source, called

Made = tuple[Source, ast.Call]


@probe
def built_here(scene: Scene) -> SpanFact | None:
    """The one call that builds the model into which the failing call loads; `detail.callee` is what it calls."""
    found = _here(scene)
    return span_fact(*found, callee=called(found[1])) if found is not None else None


@probe
def built_when_saved(scene: Scene) -> tuple[SpanFact, ...] | None:
    """The calls of the same class or function, with other arguments, that built the models which the program saves."""
    here = _here(scene)
    found: dict[str, SpanFact] = {}
    for source, node in saved_models(scene) if here is not None else ():
        for home, call in makers(scene, source, node):
            same = here is not None and called(call) == called(here[1])
            if same and here is not None and home.text(call) != here[0].text(here[1]):
                found.setdefault(home.text(call), span_fact(home, call))
    return tuple(found.values()) or None


@probe
def first_saved(scene: Scene) -> SpanFact | None:
    """The first of `built_when_saved`."""
    found = built_when_saved(scene)
    return found[0] if found else None


def _here(scene: Scene) -> Made | None:
    failing, frame = scene.failing, load_frame(scene)
    node = call_node(failing.node) if failing is not None and frame is not None else None
    if failing is None or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    if node.func.attr != "load_state_dict":
        return None
    made = makers(scene, failing.source, node.func.value)
    found = {(home.file, call.lineno): (home, call) for home, call in made}
    return next(iter(found.values())) if len(found) == 1 else None
