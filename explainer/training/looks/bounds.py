"""Values beyond what they are held against: bounds never passed, targets that are no probabilities, clamped weights."""

from __future__ import annotations

import math

import torch

from explainer.training.calls import THROUGH, looks, loss_built
from explainer.training.deep import Call, Deep

#: Between what a function's results lie, and what divides them.
RANGES = {"sigmoid": (0.0, 1.0, 0.5), "softmax": (0.0, 1.0, 0.5), "tanh": (-1.0, 1.0, 0.0)}
#: What is true of all, by comparison: of values above the bound, or of those below it.
_ABOVE, _BELOW = ("gt", "__gt__", "ge", "__ge__"), ("lt", "__lt__", "le", "__le__")
_FEWEST = 16
#: The share of a clamped parameter from which on what lies outside is no exception.
_OUTSIDE = 0.2


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


@looks("sigmoid", "softmax")
def squashed_again(deep: Deep, call: Call) -> None:
    """What a sigmoid or a softmax gave is given to one again."""
    made = deep.made(call.get("input", 0))
    first = next((one for one in made.behind(THROUGH, 8) if one.name in ("sigmoid", "softmax")), None) if made else None
    if first is None or not isinstance(call.out, torch.Tensor) or not call.out.numel():
        return
    low, high = (float(one) for one in call.out.detach().aminmax())
    at = first.site[0].line if first.site else 0
    deep.watcher.notes.saw("squashed-twice", call.site, name=call.name, first=first.name, low=low, high=high, at=at)


@looks("binary_cross_entropy_with_logits")
def no_probabilities(deep: Deep, call: Call) -> None:
    """Targets below 0 or above 1, of which a score gets the better the farther away it goes."""
    target = call.get("target", 1)
    if deep.evaluation is not None or not isinstance(target, torch.Tensor) or target.numel() < _FEWEST:
        return
    low, high = (float(one) for one in target.detach().aminmax())
    if low < 0 or high > 1:
        deep.watcher.notes.saw("target-no-probability", call.site, low=low, high=high, loss=call.name)


@looks("cross_entropy")
def one_class(deep: Deep, call: Call) -> None:
    """A score of a single class, whose share among all classes is one, whatever the score is."""
    given, target = call.get("input", 0), call.get("target", 1)
    if deep.evaluation is not None or not isinstance(given, torch.Tensor) or not isinstance(target, torch.Tensor):
        return
    if given.dim() > 1 and given.shape[1] == 1 and len(given) > 1:
        alike = target.shape == given.shape and target.is_floating_point()
        deep.watcher.notes.saw("one-class", call.site, loss_built=loss_built(deep, call), alike=alike,
                               shape=tuple(given.shape), loss=call.name)  # fmt: skip


@looks("clamp", "clip", "clamp_")
def clamped_weight(deep: Deep, call: Call) -> None:
    """A parameter that is cut off at bounds: where it lies outside of them, its gradient is zero."""
    weight = call.args[0] if call.args else None
    if not isinstance(weight, torch.nn.Parameter) or not weight.requires_grad or deep.evaluation:
        return
    least, most = call.get("min", 1), call.get("max", 2)
    if not all(one is None or isinstance(one, (int, float)) for one in (least, most)) or weight.numel() < 2:
        return
    values = weight.detach()
    outside = (values < (-math.inf if least is None else least)) | (values > (math.inf if most is None else most))
    share = float(outside.float().mean())
    if share > _OUTSIDE:
        deep.watcher.notes.saw("clamped-parameter", call.site, least=least, most=most, share=round(100 * share),
                               name=call.name, shape=tuple(weight.shape))  # fmt: skip
