"""Second derivatives and functional calls: backwards that may run once only, parameters that were taken detached."""

from __future__ import annotations

import ast

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.files import nodes_of, sources
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import called


@probe
def once_only(scene: Scene) -> tuple[SpanFact, ...] | None:
    """The `@once_differentiable` decorators of the user's custom Functions; `detail.owner` is the class of each.

    None where no gradient is computed with `create_graph=True`.
    """
    found = []
    if not any("create_graph=True" in line for source in sources(scene) for line in source.lines):
        return None
    for source, node in nodes_of(scene, ast.AST):
        for decorator in getattr(node, "decorator_list", ()):
            if source.text(decorator).rsplit(".", 1)[-1] == "once_differentiable":
                owner = source.qualified_at(node.lineno).rsplit(".", 1)[0]  # type: ignore[attr-defined]
                found.append(span_fact(source, decorator, owner=owner))
    return tuple(found) or None


@probe
def detached_state(scene: Scene) -> SpanFact | None:
    """The one `model.state_dict()` that a program takes its parameters from, where it calls models functionally.

    What is saved, loaded or copied into a model does not count. `detail.model` is the model.
    """
    found = []
    functional = False
    for source in sources(scene):
        taken = {id(one) for node in source.nodes() for one in _handed_on(node)}
        for node in source.nodes():
            if isinstance(node, ast.Call):
                functional = functional or called(node) == "functional_call"
                plain = called(node) == "state_dict" and not node.args and isinstance(node.func, ast.Attribute)
                if plain and not node.keywords and id(node) not in taken:
                    found.append((source, node))
    if len(found) != 1 or not functional:
        return None
    source, call = found[0]
    return span_fact(source, call, model=source.text(call.func.value))  # type: ignore[attr-defined]


def _handed_on(node: ast.AST) -> list[ast.AST]:
    """What a call that saves or loads weights is given."""
    kept = isinstance(node, ast.Call) and called(node) in ("save", "load_state_dict", "dump")
    return [one for part in (*node.args, *node.keywords) for one in ast.walk(part)] if kept else []  # type: ignore
