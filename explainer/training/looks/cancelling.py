"""Values that meet their own negation: `z + (q - z)` hands on q's gradient, and to z the two ways give nothing."""

from __future__ import annotations

import weakref
from typing import Any

import torch

from explainer.training import holding
from explainer.training.calls import looks
from explainer.training.deep import Call, Deep

#: Differences of one iteration that are remembered at most.
_MOST = 2000


def _pair(call: Call) -> tuple[Any, Any] | None:
    """The two tensors of a sum or a difference that is not scaled."""
    plain = len(call.args) == 2 and not call.kwargs and getattr(call.out, "requires_grad", False)
    if not plain or not all(isinstance(one, torch.Tensor) for one in call.args):
        return None
    return call.args[0], call.args[1]


def _refs(pair: tuple[Any, Any]) -> tuple[Any, Any]:
    return weakref.ref(pair[0]), weakref.ref(pair[1])


@looks("sub", "__sub__")
def subtracted(deep: Deep, call: Call) -> None:
    """Remember what was taken from what; `z - (z - q)` is the same as a sum with the negation."""
    pair = _pair(call)
    if pair is None or deep.evaluation is not None:
        return
    known = deep.differences.get(id(pair[1]))
    if known is not None and known[0]() is pair[1] and known[1]() is pair[0]:
        _saw(deep, call, pair[0], 1)
    if len(deep.differences) < _MOST:
        deep.differences[id(call.out)] = (weakref.ref(call.out), *_refs(pair))


@looks("add", "__add__", "__radd__")
def added(deep: Deep, call: Call) -> None:
    """Note a sum of a value and a difference that takes the same value away."""
    pair = _pair(call)
    for place in (0, 1) if pair is not None and deep.differences else ():
        term, own = pair[place], pair[1 - place]  # type: ignore[index]
        known = deep.differences.get(id(term))
        if known is not None and known[0]() is term and known[2]() is own:
            _saw(deep, call, own, place)


def _saw(deep: Deep, call: Call, own: Any, place: int) -> None:
    if own.requires_grad and call.site:
        known = any(seen.site == call.site for seen, _ in deep.watcher.notes.of("terms-cancel"))
        behind = set() if known else holding.leaves(own) | {id(own)}
        deep.watcher.notes.saw("terms-cancel", call.site, place=place, behind=behind)
