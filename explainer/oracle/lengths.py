"""The model with a shorter sequence: whether it runs; and whether earlier steps know of later ones."""

from __future__ import annotations

from typing import Any

from explainer.oracle.calls import Call, agree
from explainer.oracle.trees import Change, changing, mapped, tensors


def length_of(call: Call) -> int:
    """How many steps the sequences have that a module was given; 0 where it is given none, or sizes do not tell."""
    first = next(tensors(call.given))
    steps = first.dim() == 3 or (first.dim() == 2 and not first.is_floating_point())
    if not steps or first.dtype.is_complex or int(first.shape[1]) < 3:
        return 0
    size = int(first.shape[1])
    return 0 if [int(one) for one in first.shape].count(size) > 1 else size


def shorter_runs(call: Call, few: Change) -> bool | None:
    """Whether the module runs with a step less, for a few samples; None where it is given no sequences."""
    size = length_of(call)
    if not size:
        return None
    try:
        call.again(lambda one: _shorter(few(one), size))
    except Exception:
        return False
    return True


def _shorter(tensor: Any, size: int) -> Any:
    for dimension in range(tensor.dim()):
        if tensor.shape[dimension] == size:
            tensor = tensor.narrow(dimension, 0, size - 1)
    return tensor


def causal(call: Call, outcome: Any, few: Change) -> bool | None:
    """Whether steps come out the same when only the last one is changed in some input; None where none shows it."""
    size = length_of(call)
    if not size or not any(one.dim() > 1 and one.shape[1] == size for one in tensors(outcome)):
        return None
    sequence = lambda one: one.dim() > 1 and one.shape[1] == size and one.dtype != _bool()  # noqa: E731
    found = []
    for chosen in range(sum(map(sequence, tensors(call.given)))):
        other = call.again(changing(chosen, sequence, few, _last_changed))
        found.append(agree(mapped(outcome, _before(size)), mapped(other, _before(size))))
    return any(found) if found else None


def _last_changed(tensor: Any) -> Any:
    """The tensor with other values at its last step: those of the first, or of the second where they are alike."""
    first = tensor[:, 0] if bool((tensor[:, 0] != tensor[:, -1]).any()) else tensor[:, 1]
    tensor[:, -1] = first
    return tensor


def _before(size: int) -> Any:
    """The steps before the last; of what has no steps, nothing."""
    return lambda one: one[:, : size - 1] if one.dim() > 1 and one.shape[1] == size else one.reshape(-1)[:0]


def _bool() -> Any:
    import torch

    return torch.bool
