"""Layers that read [time, batch, features] and are given [batch, time, features]: samples are taken for time."""

from __future__ import annotations

from typing import Any

import torch

from explainer.training.calls import REGRESSION, looks
from explainer.training.deep import Call, Deep
from explainer.training.sites import frames


def entered(deep: Deep, module: Any, given: tuple[Any, ...]) -> None:
    """A recurrent layer was called: remember the two sizes that it takes for time and batch."""
    one = given[0] if given else None
    timed = isinstance(module, torch.nn.RNNBase) and not module.batch_first
    if timed and isinstance(one, torch.Tensor) and one.dim() == 3:
        deep.timed.append((module, tuple(one.shape[:2]), frames()))


@looks("multi_head_attention_forward")
def attended(deep: Deep, call: Call) -> None:
    """The same of attention, of the layer that the program built."""
    layers = [one for one in deep.stack if hasattr(one, "batch_first") or hasattr(one, "self_attn")]
    inner = next((one for one in reversed(deep.stack) if isinstance(one, torch.nn.MultiheadAttention)), None)
    if inner is not None and not inner.batch_first and call.args[0].dim() == 3 and not deep.evaluation:
        owner = next((one for one in layers if getattr(one, "self_attn", None) is inner), inner)
        owner = owner if type(owner).__module__.startswith("torch.nn") else inner
        deep.timed.append((owner, tuple(call.args[0].shape[:2]), call.site))


@looks(*REGRESSION, "cross_entropy", "nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits")
def a_target_each(deep: Deep, call: Call) -> None:
    """A loss with one target for each step of what was taken for time: those are the samples."""
    target = call.get("target", 1)
    if deep.evaluation or not isinstance(target, torch.Tensor) or not 0 < target.dim() < 3:
        return
    for module, (time, batch), site in deep.timed:
        if len(target) == time == deep.batch and batch > 1 and batch != time and batch not in target.shape:
            deep.watcher.notes.saw(
                "batch-taken-for-time",
                site,
                of=type(module).__name__,
                layer=type(module).__name__,
                built=deep.watcher.notes.built.get(module),
                sizes=(time, batch),
            )
