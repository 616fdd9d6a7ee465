"""Linear layers that are given what another one gave, with nothing between them."""

from __future__ import annotations

import torch

from explainer.training.calls import looks, reached, settings
from explainer.training.deep import Call, Deep

#: The steps after which nothing new is seen; the layers by the functions that they call.
_FIRST = 8
_LAYERS = {"linear": torch.nn.Linear, "conv2d": torch.nn.Conv2d, "conv1d": torch.nn.Conv1d}


@looks(*_LAYERS)
def runs_on(deep: Deep, call: Call) -> None:
    """Two such layers of one kind; where the first one narrows, they are meant as the two factors of one matrix."""
    if deep.watcher.notes.steps > _FIRST:
        return  # which layers follow each other is known by then
    first = reached(deep.made(call.get("input", 0)))
    second, kind = call.made, _LAYERS[call.name]
    if deep.evaluation or first is None or second is None or first.name != call.name:
        return
    if type(first.module) is not kind or type(second.module) is not kind or first.module is second.module:
        return
    widths, wider = first.module.weight.shape, second.module.weight.shape  # type: ignore[union-attr, attr-defined]
    sizes = [widths[1], widths[0], wider[0]]
    if sizes[1] < min(sizes[0], sizes[2]):
        return
    deep.watcher.notes.saw("linear-after-linear", call.site, first=settings(first, deep), name=kind.__name__,
                           sizes=sizes, of=id(second.module))  # fmt: skip
