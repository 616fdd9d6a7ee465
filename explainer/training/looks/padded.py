"""Padding amid the tokens: an index that stands for padding and for a real token as well."""

from __future__ import annotations

import torch

from explainer.training.calls import looks
from explainer.training.deep import Call, Deep

#: The share of the rows in which the index of padding must stand between other ones.
_ROWS = 0.5


@looks("embedding")
def padding_inside(deep: Deep, call: Call) -> None:
    """Rows in which tokens stand before and behind the index of padding, which fills up ends."""
    tokens, padding = call.get("input", 0), call.get("padding_idx", 2)
    if deep.evaluation or type(padding) is not int or padding < 0 or not isinstance(tokens, torch.Tensor):
        return
    if tokens.dim() != 2 or len(tokens) < 4 or tokens.shape[1] < 3:
        return
    real = (tokens != padding).long()
    inside = (real == 0) & (real.cumsum(1) > 0) & (real.flip(1).cumsum(1).flip(1) > 0)
    share = float(inside.any(1).float().mean())
    if share > _ROWS:
        deep.watcher.notes.saw("padding-inside", call.site, padding=padding, share=round(100 * share))
