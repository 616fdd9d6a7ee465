"""The parameters that took no part in the loss, which DistributedDataParallel gives by number or by name."""

from __future__ import annotations

import sys
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.built import built_in
from explainer.probes.module import module_calls
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene

#: How many names are listed.
_MOST = 4


@probe
def unused_parameters(scene: Scene) -> SpanFact | None:
    """The parameters that DDP's message lists, by name; the place where the first one's layer was built.

    `detail`: `names`, `layer` (the path of that layer), `count`, `numbered` (whether the message has positions). DDP
    numbers the trained parameters of its module in the order of `named_parameters()` (torch/nn/parallel/distributed.py,
    `_build_params_for_reducer`).
    """
    listed = str(scene.captures.get("parameters") or "").replace(",", " ").split()
    inner = _wrapped(scene)
    if inner is None or not listed:
        return None
    torch: Any = sys.modules["torch"]
    trained = [name for name, one in torch.nn.Module.named_parameters(inner) if one.requires_grad]
    numbered = all(part.isdigit() for part in listed)
    names = [trained[int(part)] for part in listed if int(part) < len(trained)] if numbered else listed
    if len(names) != len(listed) or not set(names) <= set(trained):
        return None
    layer = names[0].rpartition(".")[0]
    built = built_in(scene, inner, torch.nn.Module.get_submodule(inner, layer)) if layer else None
    if built is None:
        return None
    source, call = built
    more = ["..."] if len(names) > _MOST else []
    shown = ", ".join(names[:_MOST] + more)
    return span_fact(source, call, layer, names=shown, layer=layer, count=len(names), numbered=numbered)


def _wrapped(scene: Scene) -> Any:
    """The module inside of the DDP module that was being called."""
    for one in module_calls(scene):
        if any(kind.__name__ == "DistributedDataParallel" for kind in type(one.module).__mro__):
            return one.module._modules.get("module")
    return None
