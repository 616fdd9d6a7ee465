"""The model with one sample more: whether it runs, and whether the others come out as they did."""

from __future__ import annotations

from typing import Any

from explainer.oracle.calls import Call, agree
from explainer.oracle.trees import mapped, tensors


def batch_of(call: Call) -> int:
    """How many samples a module was given; 0 where sizes do not tell: another dimension has as many."""
    given = list(tensors(call.given))
    size = next((int(one.shape[0]) for one in given if one.dim() > 0), 0)
    tied = any(size in one.shape[1:] for one in given) or any(one.dim() == 0 for one in given[:1])
    return 0 if tied or size < 2 else size


def with_one_more(call: Call, outcome: Any) -> dict[str, Any]:
    """What one sample more shows: `more` and whether it `runs`, `apart`: whether the samples come out on their own.

    `outcome` is what the module hands back for its first inputs. `time_first`: rows may be steps, not samples.
    """
    size = batch_of(call)
    if not size or not any(one.dim() and one.shape[0] == size for one in tensors(outcome)):
        return {}
    more = call.again(lambda one: _longer(one, size))
    sized = [(a.shape[:1], b.shape[:1]) for a, b in zip(tensors(outcome), tensors(more), strict=True) if a.dim()]
    if any(a == (size,) and b != (size + 1,) for a, b in sized):
        return {"more": size + 1, "runs": False, "apart": None}
    first = mapped(more, lambda one: one[:size] if one.dim() and one.shape[0] == size + 1 else one)
    apart = agree(mapped(outcome, _only(size)), mapped(first, _only(size)))
    return {"more": size + 1, "runs": True, "apart": apart, "time_first": _by_time(call, size)}


def _longer(tensor: Any, size: int) -> Any:
    import torch

    return torch.cat([tensor, tensor[:1]]) if tensor.dim() and tensor.shape[0] == size else tensor


def _only(size: int) -> Any:
    return lambda one: (
        one if one.dim() and one.shape[0] == size else one[:0].reshape(-1) if one.dim() else one[None][:0]
    )


def _by_time(call: Call, size: int) -> bool:
    """Whether a layer that takes time first is given what the model was given, as it came: rows may be steps."""
    found = []

    def look(module: Any, given: Any) -> None:
        first = next(tensors(given), None)
        if first is not None and first.dim() == 3 and first.shape[0] == size:
            found.append(module)

    layers = [one for one in call.module.modules() if getattr(one, "batch_first", True) is False]
    hooks = [one.register_forward_pre_hook(look) for one in layers]
    try:
        if layers:
            call.again()
    finally:
        for hook in hooks:
            hook.remove()
    return bool(found)
