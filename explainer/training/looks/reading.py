"""Numbers read off a tensor that has a history, before the loss is made: what is made of them has none."""

from __future__ import annotations

import torch

from explainer.training import holding
from explainer.training.calls import looks
from explainer.training.deep import Call, Deep
from explainer.training.sites import key

#: Places that are kept, and how often the graph behind one of them is gone through.
_MOST, _OFTEN = 40, 4


@looks("item", "tolist", "detach", "__float__")
def read(deep: Deep, call: Call) -> None:
    """Note which weights lie behind the numbers; between backward and step they are read for the log."""
    given, place, watcher = call.args[0], key(call.site), deep.watcher
    if deep.evaluation is not None or watcher.between or not isinstance(given, torch.Tensor) or place is None:
        return
    if not given.requires_grad or (place not in watcher.read and len(watcher.read) >= _MOST):
        return
    entry = watcher.read.setdefault(place, {"site": call.site, "seen": 0, "behind": set()})
    entry["seen"] += 1
    if entry["seen"] <= _OFTEN:
        entry["behind"] |= holding.leaves(given) | ({id(given)} if given.is_leaf else set())
