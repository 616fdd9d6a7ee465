"""A second column asked of what has one: the scores of a model with a single output."""

from __future__ import annotations

import ast

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.call import call_node
from explainer.probes.origin import last_binding
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene


@probe
def one_column(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """What gave the tensor that is asked for another column than its only one; `of` is that index.

    `detail.gate` is sigmoid or softmax where it is applied there, "" elsewhere.
    """
    failing, frame = scene.failing, scene.user_frame
    node = call_node(failing.node) if failing is not None else None
    if of is None or failing is None or frame is None or not isinstance(node, ast.Subscript):
        return None
    if of["size"] != 1 or of["dim"] < 1 or len(of["shape"]) != of["dim"] + 1 or of["index"] < 1:
        return None
    bound = last_binding(failing.source, frame, node.value.id) if isinstance(node.value, ast.Name) else None
    value = bound.value if isinstance(bound, ast.Assign) else node.value
    text = failing.source.text(value)
    gate = next((one for one in ("softmax", "sigmoid") if one in text), "")
    return span_fact(failing.source, value, gate=gate)
