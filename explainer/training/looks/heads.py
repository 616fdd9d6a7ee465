"""What attention and sequence losses are given in another order or number than they read it."""

from __future__ import annotations

import torch

from explainer.training.calls import looks, loss_built
from explainer.training.deep import Call, Deep, Made

#: What hands on values with their dimensions in the order in which they were.
_IN_ORDER = frozenset(
    ("view", "reshape", "unflatten", "unbind", "chunk", "split", "__getitem__", "contiguous", "select")
)


@looks("scaled_dot_product_attention")
def heads_for_time(deep: Deep, call: Call) -> None:
    """Queries [samples, time, heads, width]: each place then attends to the heads of its own, and to no other place."""
    query = call.get("query", 0)
    if not isinstance(query, torch.Tensor) or query.dim() != 4 or deep.evaluation is not None:
        return
    samples, time, heads, width = query.shape
    whole = _laid_out(deep.made(query))
    if whole is None or heads in (1, time) or len(whole) != 3 or whole[:2] != (samples, time):
        return
    if whole[2] in (heads * width, 3 * heads * width):
        deep.watcher.notes.saw("heads-for-time", call.site, shape=tuple(query.shape), heads=heads, time=time)


def _laid_out(made: Made | None) -> tuple[int, ...] | None:
    """The shape of what was taken apart into heads, its dimensions never put in another order."""
    if made is None:
        return None
    last = [made, *made.behind(_IN_ORDER)][-1]
    return last.shape if last.name in ("linear", "matmul", "__matmul__", "add", "__add__") else None


@looks("ctc_loss")
def blank_among_labels(deep: Deep, call: Call) -> None:
    """A label that is the number of the blank: it can never be told."""
    targets, blank, lengths = call.get("targets", 1), call.get("blank", 4, 0), call.get("target_lengths", 3)
    scores = call.get("log_probs", 0)
    if not isinstance(targets, torch.Tensor) or not isinstance(lengths, torch.Tensor) or deep.evaluation is not None:
        return
    told = targets
    if targets.dim() == 2:
        told = targets[torch.arange(targets.shape[1])[None] < lengths.cpu()[:, None]]
    classes, labels = int(scores.shape[-1]), told.unique().tolist()
    free = next((one for one in (classes - 1, 0) if one not in labels), None)
    if blank in labels and free is not None:
        deep.watcher.notes.saw("ctc-blank-is-label", call.site, blank=int(blank), free=free, classes=classes,
                               built=loss_built(deep, call))  # fmt: skip
