"""Whether the last entries of a model's inputs still reach what it hands back: a cut on the way takes them away."""

from __future__ import annotations

from typing import Any

from explainer.oracle.calls import Call, agree
from explainer.oracle.trees import Change, changing, tensors

#: How many dimensions of inputs are looked at.
_MOST = 4


def unread(call: Call, outcome: Any, few: Change) -> bool:
    """Whether another last entry along some dimension of some input (the first, of samples, left out) changes nothing.

    `outcome` is what the module hands back for its first few samples, which must be steady.
    """
    given = list(filter(_wide, tensors(call.given)))
    tried = [(chosen, at) for chosen, one in enumerate(given) for at in range(1, one.dim()) if _differs(few(one), at)]
    changes = (changing(chosen, _wide, few, _ends_alike(at)) for chosen, at in tried[:_MOST])
    return any(agree(outcome, call.again(change)) for change in changes)


def _differs(tensor: Any, at: int) -> bool:
    """Whether the last entry along a dimension is another than the first: there are others to be put there."""
    size = int(tensor.shape[at])
    return size > 1 and bool((tensor.narrow(at, 0, 1) != tensor.narrow(at, size - 1, 1)).any())


def _ends_alike(at: int) -> Change:
    """Puts the first entry along a dimension in the place of the last."""

    def changed(tensor: Any) -> Any:
        tensor.narrow(at, int(tensor.shape[at]) - 1, 1).copy_(tensor.narrow(at, 0, 1))
        return tensor

    return changed


def _wide(tensor: Any) -> bool:
    return bool(tensor.dim() > 1)
