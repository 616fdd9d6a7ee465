"""Units that a rectifier holds at zero: how many of a layer gave nothing but 0 for a whole batch."""

from __future__ import annotations

import torch

from explainer.training.calls import looks
from explainer.training.deep import Call, Deep
from explainer.training.sites import key

#: Looks that are kept of one place.
_MOST = 80


@looks("relu", "relu_")
def dead_units(deep: Deep, call: Call) -> None:
    """Count the units of a layer that are 0 for all samples of a batch."""
    out = call.out
    if deep.evaluation is not None or not isinstance(out, torch.Tensor) or out.dim() < 2 or len(out) < 8:
        return
    units = (out.detach() != 0).movedim(1 if out.dim() == 4 else -1, -1).flatten(0, -2).any(0)
    module = deep.stack[-1] if deep.stack else None
    known = deep.watcher.rectified.setdefault((key(call.site), id(module)), {"site": call.site, "seen": []})
    known["built"] = deep.watcher.notes.built.get(module) or ()
    if len(known["seen"]) < _MOST:
        known["seen"].append((deep.watcher.notes.steps, len(units), len(units) - int(units.sum())))
