"""Random numbers drawn from a generator of the program's own: whether one place draws the same ones each time."""

from __future__ import annotations

import torch

from explainer.training.calls import looks
from explainer.training.deep import Call, Deep
from explainer.training.sites import key

#: Entries by which draws are told apart, and how many there must be; places that are kept.
_ENTRIES, _FEWEST, _PLACES = 8, 4, 40


@looks("rand", "randn", "randint", "randperm", "normal", "bernoulli", "multinomial", "normal_", "uniform_")
def drawn(deep: Deep, call: Call) -> None:
    """Count, by place, the draws from a generator that is handed over, and how many of them differ."""
    out, place, kept = call.out, key(call.site), deep.watcher.draws
    if deep.evaluation is not None or call.kwargs.get("generator") is None or place is None:
        return
    if not isinstance(out, torch.Tensor) or out.numel() < _FEWEST or (place not in kept and len(kept) >= _PLACES):
        return
    entry = kept.setdefault(place, {"site": call.site, "count": 0, "prints": set()})
    entry["count"] += 1
    entry["prints"].add(tuple(out.detach().flatten()[:_ENTRIES].tolist()))
