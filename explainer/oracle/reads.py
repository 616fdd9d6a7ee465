"""Whether the last entries of a model's inputs still reach what it hands back: a cut on the way takes them away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from explainer.oracle.calls import Call, agree
from explainer.oracle.trees import tensors

Change = Callable[[Any], Any]
#: How many dimensions of inputs are looked at.
_MOST = 4


def unread(call: Call, outcome: Any, few: Change) -> bool:
    """Whether another last entry along some dimension of some input (the first, of samples, left out) changes nothing.

    `outcome` is what the module hands back for its first few samples, which must be steady.
    """
    given = [one for one in tensors(call.given) if one.dim() > 1]
    tried = [(chosen, at) for chosen, one in enumerate(given) for at in range(1, one.dim()) if _differs(few(one), at)]
    return any(agree(outcome, call.again(_changing(few, chosen, at))) for chosen, at in tried[:_MOST])


def _differs(tensor: Any, at: int) -> bool:
    """Whether the last entry along a dimension is another than the first: there are others to be put there."""
    size = int(tensor.shape[at])
    return size > 1 and bool((tensor.narrow(at, 0, 1) != tensor.narrow(at, size - 1, 1)).any())


def _changing(few: Change, chosen: int, at: int) -> Change:
    """Puts the first entry of one input in the place of its last."""
    seen = iter(range(1 << 20))

    def changed(one: Any) -> Any:
        part = few(one)
        if one.dim() < 2 or next(seen) != chosen:
            return part
        part = part.clone()
        part.narrow(at, int(part.shape[at]) - 1, 1).copy_(part.narrow(at, 0, 1))
        return part

    return changed
