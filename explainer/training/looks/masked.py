"""Scores that are filled with a number that hides nothing: softmax still gives the hidden places a weight."""

from __future__ import annotations

import torch

from explainer.training.calls import THROUGH, looks
from explainer.training.deep import Call, Deep

#: The share of all weights that hidden places must still get.
_SHARE = 0.02


@looks("softmax")
def hidden_in_vain(deep: Deep, call: Call) -> None:
    """A fill such as 1e-9 or -1, which is no smaller than the scores."""
    scores = call.get("input", 0)
    made = deep.made(scores)
    for one in made.behind(THROUGH, 6) if made is not None else ():
        if one.name not in ("masked_fill", "masked_fill_"):
            continue
        value = one.argument("value", 2)
        if type(value) not in (int, float) or value < -100 or not isinstance(call.out, torch.Tensor):
            return
        hidden = (scores.detach() - value).abs() <= 1e-6 * max(abs(value), 1e-6)
        share = float(call.out.detach()[hidden].sum() / call.out.detach().sum()) if bool(hidden.any()) else 0.0
        if share > _SHARE:
            deep.watcher.notes.saw("mask-without-effect", one.site, value=value, share=round(100 * share))
        return
