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


def few_of(call: Call) -> Callable[[Any], Any]:
    """Takes a few samples of what has as many as the batch."""
    size, rows = batch_of(call), _rows(call)
    return lambda one: _taken(one, rows[:_FEW]) if size and one.dim() and one.shape[0] == size else one


def _taken(tensor: Any, rows: list[int]) -> Any:
    """Some rows: the first ones as a view, so that they lie in memory as they did."""
    return tensor[: len(rows)] if rows == list(range(len(rows))) else tensor[rows]


def _rows(call: Call) -> list[int]:
    """The numbers of a few samples and of one more where there is one: the first, and what is longest of all.

    To the longest all others were filled up: without it they would be too long for their lengths.
    """
    size, rows = batch_of(call), list(range(_FEW + 1))
    for one in tensors(call.given):
        counts = one.dim() == 1 and one.shape[0] == size > _FEW and "int" in str(one.dtype)
        longest = int(one.argmax()) if counts else 0
        if longest >= _FEW:
            rows = [*rows[: _FEW - 1], longest, rows[_FEW - 1]]
    return rows if size > _FEW else list(range(size))


def with_one_more(call: Call, outcome: Any, steady: bool) -> dict[str, Any]:
    """What one sample more shows: `more` and whether it `runs`, `apart`: whether the samples come out on their own.

    `outcome` is what the module hands back for the first few; where that is not `steady`, `apart` is None. Nothing is
    told where no result has as many rows, but that one sample more fails.
    """
    size = batch_of(call)
    few = min(size, _FEW)
    if not size:
        return {}
    rows = _rows(call)
    more = call.again(lambda one: _longer(one, size, rows))
    if not any(one.dim() and one.shape[0] == few for one in tensors(outcome)):
        return {}
    sized = [(a.shape[:1], b.shape[:1]) for a, b in zip(tensors(outcome), tensors(more), strict=True) if a.dim()]
    if any(a == (few,) and b != (few + 1,) for a, b in sized):
        return {"more": few + 1, "runs": False, "apart": None}
    first = mapped(more, lambda one: one[:few] if one.dim() and one.shape[0] == few + 1 else one)
    apart = agree(mapped(outcome, _only(few)), mapped(first, _only(few))) if steady else None
    return {"more": few + 1, "runs": True, "apart": apart}


def _longer(tensor: Any, size: int, rows: list[int]) -> Any:
    """A few samples and one more: another, or the last once more, so that what is sorted stays so."""
    import torch

    if not tensor.dim() or tensor.shape[0] != size:
        return tensor
    return _taken(tensor, rows) if size > _FEW else torch.cat([tensor, tensor[-1:]])


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
