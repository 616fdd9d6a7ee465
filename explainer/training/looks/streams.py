"""Which batches go on where the ones before them ended, so that a state may be carried from one to the next."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import torch

from explainer.training.calls import looks
from explainer.training.deep import Call, Deep


def follow(watcher: Any, known: dict[str, Any], given: tuple[Any, ...]) -> None:
    """Note along which dimensions a model's first input begins where the one of the step before it ended."""
    one = next((each for each in given if isinstance(each, torch.Tensor) and each.dim() > 1), None)
    if one is None or one.layout != torch.strided:
        return
    place = (one.untyped_storage().data_ptr(), one.storage_offset(), one.stride(), tuple(one.shape))
    last, step = known.get("came", (None, -1))
    if step == watcher.notes.steps - 1 and last is not None:
        ahead = known.setdefault("ahead", set())
        if last[0] == place[0] and last[2] == place[2]:
            ahead |= {dim for dim in (0, 1) if place[1] - last[1] == last[3][dim] * last[2][dim]}
        if _follows(watcher.ends, one):
            ahead.add(1)
    known["came"] = (place, watcher.notes.steps)


def _follows(ends: Any, given: Any) -> bool:
    """Whether a batch begins, row by row, with what the one before it was to predict last."""
    if ends is None or len(ends) != len(given) or given.dim() != 2 or ends.dtype != given.dtype:
        return False
    return bool((ends == given[:, 0]).all()) and not bool((ends == ends[0]).all())


@looks("cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss")
def predicted_last(deep: Deep, call: Call) -> None:
    """Remember what each row was to predict last."""
    target = call.get("target", 1)
    if deep.evaluation or not isinstance(target, torch.Tensor) or not deep.batch or target.requires_grad:
        return
    if target.numel() > deep.batch and target.numel() % deep.batch == 0 and target.numel() < 1_000_000:
        deep.watcher.ends = target.detach().reshape(deep.batch, -1)[:, -1].clone()


def streamed(watcher: Any, dims: Collection[int]) -> bool:
    """Whether some model's batches went on along one of the dimensions."""
    return any(root.get("ahead", set()) & set(dims) for root in watcher.notes.roots.values())
