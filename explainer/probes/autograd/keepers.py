"""Layers whose weight is written over between forward and backward: the same call on a copy of that weight."""

from __future__ import annotations

import ast

from explainer.facts import SpanFact, WriteFact
from explainer.probes import probe
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene

#: A layer's own call spelt with its weight as an argument; `{0}` is the layer, `{1}` what it is given.
_SPELT = {
    "Linear": "torch.nn.functional.linear({1}, {0}.weight.clone(), {0}.bias)",
    "Embedding": "torch.nn.functional.embedding({1}, {0}.weight.clone(), {0}.padding_idx)",
    **dict.fromkeys(("Conv1d", "Conv2d", "Conv3d"), "{0}._conv_forward({1}, {0}.weight.clone(), {0}.bias)"),
}


@probe
def layer_on_copy(scene: Scene, of: WriteFact | None = None) -> SpanFact | None:
    """The call of a layer whose weight was written over later, where the user's code calls that layer by its name.

    `detail`: `to`, the same call on a copy of the weight, through which gradients still reach it.
    """
    if of is None or of.kept is None or of.holder != "weight" or of.kept["module"] not in _SPELT:
        return None
    from explainer.edits.place import place_of

    at = place_of(scene.source, of.kept)
    node = at.node
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords or isinstance(node.args[0], ast.Starred):
        return None
    layer = at.source.text(node.func)
    if layer.rsplit(".", 1)[-1] != of.kept["path"].rsplit(".", 1)[-1]:
        return None
    text = _SPELT[of.kept["module"]].format(layer, at.source.text(node.args[0]))
    return span_fact(at.source, node, to=text)
