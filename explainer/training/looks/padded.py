"""Padding: an index that stands for a real token as well, places that count in a mean although nothing is there."""

from __future__ import annotations

import torch

from explainer.training.calls import looks
from explainer.training.deep import Call, Deep

#: What hands a tensor on as it is, in another type; what may have hidden padding.
_SAME, _MASKING = frozenset(("float", "to")), frozenset(("mul", "__mul__", "masked_fill", "where"))
#: The share of all places that must be padding to count in a mean.
_FILLED = 0.1
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


@looks("embedding")
def padded_ends(deep: Deep, call: Call) -> None:
    """Note which index fills up the ends of rows, and of which rows: the longest of a batch has none."""
    tokens = call.get("input", 0)
    if not isinstance(tokens, torch.Tensor) or tokens.dim() != 2 or len(tokens) < 4 or tokens.shape[1] < 3:
        return
    filler = int(tokens[:, -1].mode().values)
    ends = (tokens == filler).flip(1).long().cumprod(1)
    share = float(ends.float().mean())
    whole = bool((ends.sum(1) == 0).any())
    if _FILLED < share < 1 - _FILLED and whole and (filler == 0 or filler == call.get("padding_idx", 2)):
        deep.padded[tuple(tokens.shape)] = filler, share


@looks("mean")
def pooled_with_padding(deep: Deep, call: Call) -> None:
    """A mean over the places of each row, of what was looked up for padded rows."""
    given = call.args[0] if call.args else None
    if not isinstance(given, torch.Tensor) or given.dim() != 3 or call.get("dim", 1) not in (1, -2) or deep.evaluation:
        return
    filler, share = deep.padded.get(tuple(given.shape[:2]), (None, 0.0))
    made = deep.made(given)
    if filler is None or made is None or any(one.name in _MASKING for one in made.behind(_SAME | _MASKING, 3)):
        return
    if any(one.name == "embedding" for one in made.all_behind(400)):
        deep.watcher.notes.saw("padding-pooled", call.site, filler=filler, share=round(100 * share))
