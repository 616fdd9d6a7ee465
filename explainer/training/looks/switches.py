"""Losses that are told by a switch whether they get values or their logarithms, and get the other."""

from __future__ import annotations

import torch

from explainer.training.calls import looks, reached, saw_pair
from explainer.training.deep import Call, Deep

#: What gives numbers that are no logarithms: rates, shares, distances.
_POSITIVE = ("softplus", "exp", "relu", "sigmoid", "softmax", "square", "exp_", "expm1")
#: How far above zero rounding puts the logarithm of one.
_ROUNDING = 1e-3


@looks("poisson_nll_loss")
def rate_for_log(deep: Deep, call: Call) -> None:
    """A rate where the logarithm of one is expected, or numbers below zero where a rate is."""
    given, logarithm = call.get("input", 0), call.get("log_input", 2, True)
    made = reached(deep.made(given))
    if made is None or deep.evaluation or not isinstance(given, torch.Tensor):
        return
    if logarithm and made.name in _POSITIVE:
        saw_pair(deep, "loss-switch-contradicted", call, made, switch="log_input", value=False, argument="input")
    elif not logarithm and bool((given < 0).any()):
        saw_pair(deep, "loss-switch-contradicted", call, made, switch="log_input", value=True, argument="input")


@looks("kl_div")
def logarithms_as_targets(deep: Deep, call: Call) -> None:
    """Logarithms where probabilities are the target, which `kl_div` then takes the logarithm of, or leaves out."""
    target, logarithm = call.get("target", 1), call.get("log_target", 5, False)
    if deep.evaluation or not isinstance(target, torch.Tensor) or not target.numel():
        return
    made = deep.made(target) or deep.made(call.get("input", 0))
    negative = bool((target < -_ROUNDING).any()) and not bool((target > _ROUNDING).any())
    if made is not None and negative != bool(logarithm):
        saw_pair(deep, "loss-switch-contradicted", call, made, switch="log_target", value=negative, argument="target")
