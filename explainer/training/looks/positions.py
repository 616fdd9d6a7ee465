"""Rows of a table that are added along the samples of a batch and are the same for all of its places."""

from __future__ import annotations

import torch

from explainer.training.calls import looks
from explainer.training.deep import Call, Deep


@looks("add", "__add__", "__radd__", "add_", "__iadd__")
def along_batch(deep: Deep, call: Call) -> None:
    """[batch, 1, width], the first rows of a longer table, added to [batch, time, width]."""
    if deep.evaluation is not None or len(call.args) != 2 or not deep.stack:
        return
    for one, other in (call.args, call.args[::-1]):
        if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor) or one.dim() != 3:
            continue
        made, shape = deep.made(other), tuple(one.shape)
        sliced = made is not None and made.name == "__getitem__" and made.shapes[:1]
        if sliced and tuple(other.shape) == (shape[0], 1, shape[2]) and shape[1] > 1 < shape[0]:
            rows = made.shapes[0]  # type: ignore[union-attr]
            if rows[1:] == (1, shape[2]) and rows[0] > max(shape[:2]):
                deep.watcher.notes.saw("positions-along-batch", call.site, at=made.site, shape=shape, rows=rows[0])  # type: ignore[union-attr]
