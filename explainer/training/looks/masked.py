"""Hidden places that count all the same: softmax gives them a weight, or the zero that a mask puts there is chosen."""

from __future__ import annotations

import weakref

import torch

from explainer.training.calls import THROUGH, looks
from explainer.training.deep import Call, Deep

#: The share of all weights that hidden places must still get.
_SHARE = 0.02
#: Products with a mask of one iteration that are remembered at most; the share of choices that must be hidden zeros.
_PRODUCTS, _LOST = 500, 0.9


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


@looks("mul", "__mul__", "__rmul__")
def hidden_by_product(deep: Deep, call: Call) -> None:
    """Remember what was multiplied with a mask of zeros and ones, as it stands there: the value's place, the mask."""
    pair = call.args
    if len(pair) != 2 or call.kwargs or not all(isinstance(one, torch.Tensor) for one in pair):
        return
    for place, mask in ((0, pair[1]), (1, pair[0])):
        if len(deep.masked) < _PRODUCTS and pair[place].is_floating_point() and _is_mask(mask):
            deep.masked[id(call.out)] = (weakref.ref(call.out), mask.detach() != 0, place, mask.dtype, call.site)
            return


def _is_mask(values: torch.Tensor) -> bool:
    """Whether there are zeros and ones, both, and nothing else."""
    if values.numel() < 2 or values.requires_grad:
        return False
    zeros, ones = values == 0, values == 1
    return bool(zeros.any() and ones.any() and (values.dtype == torch.bool or (zeros | ones).all()))


@looks("min", "amin", "argmin", "max", "amax", "argmax")
def zero_chosen(deep: Deep, call: Call) -> None:
    """The least of what was multiplied with a mask, where a hidden zero is less than all that is shown."""
    values, dim = call.get("input", 0), call.get("dim", 1)
    known = deep.masked.get(id(values))
    if known is None or known[0]() is not values or not (dim is None or isinstance(dim, int)):
        return
    least, (_, mask, place, dtype, site) = call.name.endswith("min"), known
    signed, shown = values.detach() if least else -values.detach(), mask.expand_as(values)
    if dim is None:
        signed, shown, dim = signed.flatten(), shown.flatten(), 0
    lowest = signed.masked_fill(~shown, float("inf")).amin(dim)
    asked = shown.any(dim) & (~shown).any(dim)
    lost = (asked & (lowest > 0)).sum().item() / max(int(asked.sum()), 1)
    if lost > _LOST:
        deep.watcher.notes.saw("zero-chosen", site, name=call.name, least=least, place=place, share=round(100 * lost),
                               bool=dtype == torch.bool, line=call.site[0].line if call.site else 0)  # fmt: skip
