"""The model with a few samples and one more: whether it runs, and whether the few come out as they did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from explainer.oracle.calls import Call, agree
from explainer.oracle.trees import mapped, tensors

#: How many samples are few.
_FEW = 4


def batch_of(call: Call) -> int:
    """How many samples a module was given; 0 where sizes do not tell: another dimension has as many.

    So it is where another tensor looks the rows up, as the edges of a graph do its nodes: fewer rows are another graph.
    """
    given = list(tensors(call.given))
    size = next((int(one.shape[0]) for one in given if one.dim() > 0), 0)
    tied = any(size in one.shape[1:] for one in given) or any(one.dim() == 0 for one in given[:1])
    return 0 if tied or size < 2 or any(_looks_up(one, size) for one in given) else size


def _looks_up(tensor: Any, size: int) -> bool:
    """Whether a tensor of whole numbers, not one row for each sample, names some of the rows behind the first few."""
    if tensor.is_floating_point() or tensor.is_complex() or not tensor.numel() or tensor.shape[:1] == (size,):
        return False
    return "int" in str(tensor.dtype) and _FEW <= int(tensor.max()) < size


def few_of(size: int) -> Callable[[Any], Any]:
    """Takes the first few samples of what has as many as the batch."""
    return lambda one: one[:_FEW] if size and one.dim() and one.shape[0] == size else one


def with_one_more(call: Call, outcome: Any, steady: bool) -> dict[str, Any]:
    """What one sample more shows: `more` and whether it `runs`, `apart`: whether the samples come out on their own.

    `outcome` is what the module hands back for the first few; where that is not `steady`, `apart` is None. Nothing is
    told where no result has as many rows, but that one sample more fails.
    """
    size = batch_of(call)
    few = min(size, _FEW)
    if not size:
        return {}
    more = call.again(lambda one: _longer(one, size))
    if not any(one.dim() and one.shape[0] == few for one in tensors(outcome)):
        return {}
    sized = [(a.shape[:1], b.shape[:1]) for a, b in zip(tensors(outcome), tensors(more), strict=True) if a.dim()]
    if any(a == (few,) and b != (few + 1,) for a, b in sized):
        return {"more": few + 1, "runs": False, "apart": None}
    first = mapped(more, lambda one: one[:few] if one.dim() and one.shape[0] == few + 1 else one)
    apart = agree(mapped(outcome, _only(few)), mapped(first, _only(few))) if steady else None
    return {"more": few + 1, "runs": True, "apart": apart}


def _longer(tensor: Any, size: int) -> Any:
    """The first few samples and one more: the next, or the last once more, so that what is sorted stays so."""
    import torch

    if not tensor.dim() or tensor.shape[0] != size:
        return tensor
    return tensor[: _FEW + 1] if size > _FEW else torch.cat([tensor, tensor[-1:]])


def _only(size: int) -> Any:
    return lambda one: one if one.dim() and one.shape[0] == size else one.reshape(-1)[:0]


@contextmanager
def time_first(call: Call, size: int) -> Iterator[list[Any]]:
    """Layers that take time first, and are given as many rows as the model: those may be steps, no samples."""
    found: list[Any] = []

    def look(module: Any, given: Any) -> None:
        first = next(tensors(given), None)
        if first is not None and first.dim() == 3 and first.shape[0] == min(size, _FEW):
            found.append(module)

    layers = [one for one in call.module.modules() if getattr(one, "batch_first", True) is False]
    hooks = [one.register_forward_pre_hook(look) for one in layers]
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()
