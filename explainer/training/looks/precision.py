"""Updates too small for a type of low precision, which are rounded away; results too large for a byte, which wrap."""

from __future__ import annotations

from typing import Any

import torch

from explainer.training.calls import looks
from explainer.training.deep import Call, Deep

LOW = (torch.bfloat16, torch.float16)
#: Types of whole numbers that pictures and sound come in, with how many values they have; the share that must wrap.
_BYTES, _WRAPS = {torch.uint8: 256, torch.int8: 256}, 0.01
_EXACT: dict[str, Any] = {
    "sub": torch.sub,
    "__sub__": torch.sub,
    "__rsub__": torch.rsub,
    "add": torch.add,
    "__add__": torch.add,
}
#: Entries of one weight, and weights of one optimizer, that are compared.
_ENTRIES, _WEIGHTS = 512, 6


@looks("lerp_", "add_")
def averaged(deep: Deep, call: Call) -> None:
    """A running average that is kept in low precision: which share of its steps is less than half of a last digit."""
    mean, new = call.args[0], call.get("end" if call.name == "lerp_" else "other", 1)
    weight = call.get("weight", 2) if call.name == "lerp_" else call.kwargs.get("alpha")
    if not isinstance(new, torch.Tensor) or not isinstance(weight, (int, float)) or not 0 < weight < 0.5:
        return
    if mean.dtype not in LOW or new.shape != mean.shape or mean.numel() < 2:
        return
    one, other = mean.detach().flatten()[:_ENTRIES].float(), new.detach().flatten()[:_ENTRIES].float()
    step = weight * ((other - one) if call.name == "lerp_" else other).abs()
    moves = step > 0
    if bool(moves.any()):
        _saw(deep.watcher, call.site, "average", mean.dtype, (step < _least(one, mean.dtype))[moves], weight)


def _least(values: Any, dtype: torch.dtype) -> Any:
    """Half of the distance to the next number of a type."""
    return values.abs() * torch.finfo(dtype).eps / 4


def before_step(watcher: Any, of: Any) -> None:
    """Keep some entries of weights of low precision that have gradients."""
    moving = [group for group in of.param_groups if group.get("lr") != 0]  # a warm-up begins at 0
    held = [p for group in moving for p in group["params"] if p.dtype in LOW and p.grad is not None]
    held = [p for p in held if p.grad.layout == torch.strided and not _kept_exactly(p, of.state.get(p))]
    watcher.lowly = [
        (p, p.detach().flatten()[:_ENTRIES].clone(), p.grad.flatten()[:_ENTRIES] != 0) for p in held[:_WEIGHTS]
    ]


def _kept_exactly(weight: Any, state: Any) -> bool:
    """Whether an optimizer holds a weight in a finer type as well, to which small steps are added."""
    values = state.values() if isinstance(state, dict) else ()
    finer = (one for one in values if isinstance(one, torch.Tensor) and one.dtype == torch.float32)
    first = weight.detach().flatten()[:_ENTRIES]
    return any(one.shape == weight.shape and bool((one.flatten()[:_ENTRIES].to(weight.dtype) == first).all())
               for one in finer)  # fmt: skip


def after_step(watcher: Any, site: Any) -> None:
    """Which share of them a step has left as it was."""
    held, watcher.lowly = watcher.lowly, []
    if held:
        same = [(p.detach().flatten()[:_ENTRIES] == old)[moves] for p, old, moves in held]
        _saw(watcher, site, "weights", held[0][0].dtype, torch.cat(same), 0.0)


def _saw(watcher: Any, site: Any, what: str, dtype: torch.dtype, lost: Any, weight: float) -> None:
    share = float(lost.float().mean()) if lost.numel() else 0.0
    name = str(dtype).removeprefix("torch.")
    if share > 0.5:
        watcher.notes.saw("rounded-away", site, of=what, what=what, dtype=name, share=round(100 * share), weight=weight)


@looks(*_EXACT)
def wrapped(deep: Deep, call: Call) -> None:
    """A sum or difference of bytes that lies outside of what a byte holds: it goes on from the other end."""
    out = call.out
    if not isinstance(out, torch.Tensor) or out.dtype not in _BYTES or call.kwargs or len(call.args) != 2:
        return
    exact = _EXACT[call.name](*(one.int() if isinstance(one, torch.Tensor) else one for one in call.args))
    lost = float((exact != out).float().mean()) if out.numel() else 0.0
    if lost > _WRAPS:
        name = str(out.dtype).removeprefix("torch.")
        deep.watcher.notes.saw("wrapped", call.site, dtype=name, share=round(100 * lost), low=int(exact.min()),
                               high=int(exact.max()), many=_BYTES[out.dtype])  # fmt: skip
