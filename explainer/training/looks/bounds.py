"""Decisions that cannot come out otherwise: a value compared with a bound that it never gets past."""

from __future__ import annotations

import torch

from explainer.training.calls import looks
from explainer.training.deep import Call, Deep

#: Between what a function's results lie, and what divides them.
RANGES = {"sigmoid": (0.0, 1.0, 0.5), "softmax": (0.0, 1.0, 0.5), "tanh": (-1.0, 1.0, 0.0)}
#: What is true of all, by comparison: of values above the bound, or of those below it.
_ABOVE, _BELOW = ("gt", "__gt__", "ge", "__ge__"), ("lt", "__lt__", "le", "__le__")
_FEWEST = 16


@looks(*_ABOVE, *_BELOW)
def decided(deep: Deep, call: Call) -> None:
    """A model's output compared with a number at an end of its range: all of it comes out alike."""
    if deep.evaluation is None or len(call.args) != 2 or not isinstance(call.out, torch.Tensor):
        return
    given, bound = call.args
    made = deep.made(given) if isinstance(given, torch.Tensor) else None
    if made is None or made.name.rstrip("_") not in RANGES or type(bound) not in (int, float):
        return
    low, high, middle = RANGES[made.name.rstrip("_")]
    out = call.out
    if out.numel() >= _FEWEST and not low < bound < high and bool((out == out.flatten()[0]).all()):
        right = bool(out.flatten()[0])
        deep.watcher.notes.saw("decision-constant", call.site, name=made.name.rstrip("_"), bound=bound, middle=middle,
                               count=out.numel(), right=right)  # fmt: skip
