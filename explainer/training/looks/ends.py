"""What single calls show of a model's ends: targets out of reach or among the inputs, samples that are mixed."""

from __future__ import annotations

import torch

from explainer.training.calls import REGRESSION, looks, reached, settings
from explainer.training.deep import Call, Deep

#: The values between which an activation's results lie.
_RANGES = {"relu": (0.0, float("inf")), "sigmoid": (0.0, 1.0), "tanh": (-1.0, 1.0), "softmax": (0.0, 1.0)}


@looks(*REGRESSION)
def out_of_range(deep: Deep, call: Call) -> None:
    """Targets that an activation at the end of the model can never reach."""
    target = call.get("target", 1)
    made = reached(deep.made(call.get("input", 0)))
    if made is None or made.name not in _RANGES or not made.tracked or deep.evaluation:
        return
    if not isinstance(target, torch.Tensor) or target.requires_grad or not target.numel():
        return
    low, high = _RANGES[made.name]
    if call.get("reduction", 2 if call.name == "huber_loss" else 4) == "none":
        return  # what is out of range may be left out afterwards
    share = float(((target < low - 0.05) | (target > high + 0.05)).float().mean())
    if share > 0.05:
        place = settings(made, deep)
        deep.watcher.notes.saw(
            "output-range", call.site, made=place, loss=call.name, share=round(100 * share), low=low, high=high
        )


#: Rows that are compared before all of them are.
_FEW = 8


@looks(*REGRESSION, "cross_entropy", "binary_cross_entropy", "binary_cross_entropy_with_logits", "nll_loss")
def target_among_inputs(deep: Deep, call: Call) -> None:
    """A column of the inputs that is the target, sample by sample."""
    target = call.get("target", 1)
    if deep.evaluation or not isinstance(target, torch.Tensor) or not target.dim():
        return
    deep.watcher.notes.times["samples", len(target)] += 1
    if target.requires_grad or target.dim() > 2:
        return
    if len(target) < 8 or target.numel() != len(target) or len(deep.roots) != 1:
        return  # what one model is given may be what another is asked
    read = [tokens for tokens, _ in deep.watcher.tokens]  # one of which may be what is to be told
    for given in deep.fed:
        if (
            given.dim() != 2
            or len(given) != len(target)
            or given.shape[1] < 2
            or given.requires_grad
            or given.device != target.device
        ):
            continue
        if any(given is one for one in read):
            continue
        if not (given[:_FEW] == target[:_FEW].reshape(-1, 1)).all(0).any():
            continue
        same = (given == target.reshape(-1, 1)).all(0).nonzero().flatten().tolist()
        if len(same) == 1 and not bool((target == target.flatten()[0]).all()):
            deep.watcher.notes.saw("target-among-inputs", call.site, column=same[0], columns=given.shape[1])


_REDUCES = ("softmax", "log_softmax", "normalize", "mean", "sum", "amax", "logsumexp", "cumsum", "std", "var")


@looks(*_REDUCES)
def reduced_over_batch(deep: Deep, call: Call) -> None:
    """A reduction in the model's own code that goes over the samples of the batch."""
    made, dim = call.made, call.get("dim", 2 if call.name == "normalize" else 1)
    if made is None or deep.evaluation or not deep.stack or not made.shapes:
        return
    shape, batch = made.shapes[0], deep.batch
    if isinstance(dim, (tuple, list)) and len(dim) == 1:
        dim = dim[0]
    if dim != 0 or isinstance(dim, bool) or len(shape) < 2 or shape[0] != batch or batch in shape[1:]:
        return
    if made.shape[:1] != (batch,) and not made.argument("keepdim", 2):
        return  # a figure of the whole batch, as auxiliary losses and statistics are
    deep.watcher.notes.saw("reduced-over-batch", call.site, made=settings(made, deep), shape=shape)
