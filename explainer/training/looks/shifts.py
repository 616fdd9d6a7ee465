"""Targets that are the inputs of a later place: those of the next place but one are shifted twice."""

from __future__ import annotations

import torch

from explainer.training.calls import looks
from explainer.training.deep import Call, Deep

#: So many targets must be there, of so many kinds, for it to be no chance.
_TARGETS, _KINDS = 32, 4


@looks("cross_entropy", "nll_loss")
def shifted_twice(deep: Deep, call: Call) -> None:
    """A target for place t that is the token of place t + 2, where each token is embedded at its place."""
    target = call.get("target", 1)
    if deep.evaluation is not None or not isinstance(target, torch.Tensor) or target.is_floating_point():
        return
    ignored = call.get("ignore_index", 4, -100)
    for tokens, _ in deep.watcher.tokens:
        rows, places = tokens.shape
        if not rows or target.numel() % rows or places < 4:
            continue
        wanted = target.reshape(rows, -1)
        if _are(wanted, tokens, 2, ignored) and not any(_are(wanted, tokens, by, ignored) for by in (0, 1)):
            deep.watcher.notes.saw("labels-shifted-twice", call.site, loss=call.name)
            return


def _are(wanted: torch.Tensor, tokens: torch.Tensor, by: int, ignored: int) -> bool:
    """Whether all targets that count are the tokens so many places further on."""
    many = min(wanted.shape[1], tokens.shape[1] - by)
    own, later = wanted[:, :many], tokens[:, by : by + many]
    counts = own != ignored
    found = own[counts]
    return len(found) >= _TARGETS and len(found.unique()) >= _KINDS and bool((found == later[counts]).all())
