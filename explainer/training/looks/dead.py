"""Units that let no gradient through: rectifiers that give 0 for a whole batch, curves where they are flat."""

from __future__ import annotations

from typing import Any

import torch

from explainer.training.calls import looks
from explainer.training.deep import Call, Deep
from explainer.training.sites import key

#: Looks that are kept of one place.
_MOST = 80
#: How far from its middle, of its reach, a curve is flat; how many values are looked through at most.
_STEEP, _ENTRIES = 0.95**0.5, 1_000_000
#: Shares from which on one takes all; of so few that is nothing.
_ALL, _FEW = 0.98, 3
#: How many samples are looked at first.
_FIRST = 8


@looks("relu", "relu_")
def dead_units(deep: Deep, call: Call) -> None:
    """Count the units of a layer that are 0 for all samples of a batch."""
    out = call.out
    if _looked(deep, out):
        still = _still(out.detach()[:_FIRST])
        units = out.shape[_unit(out)]
        _note(deep, call, units, _still(out.detach()) if still else 0)  # in a healthy layer a few samples tell


def _unit(out: torch.Tensor) -> int:
    """The dimension that the units of a layer lie along."""
    return 1 if out.dim() == 4 else out.dim() - 1


def _still(out: torch.Tensor) -> int:
    """How many units are 0 for all samples; none is below."""
    most = out.amax([dim for dim in range(out.dim()) if dim != _unit(out)])
    return len(most) - int(most.count_nonzero())


@looks("tanh", "tanh_", "sigmoid", "sigmoid_")
def flat_units(deep: Deep, call: Call) -> None:
    """Count the values of a layer at which its curve is less than a twentieth as steep as in its middle."""
    out = call.out
    if _looked(deep, out) and call.made is not None and call.made.tracked and out.numel() < _ENTRIES:
        middle, half = (0.0, 1.0) if call.name.startswith("tanh") else (0.5, 0.5)
        _note(deep, call, out.numel(), int(((out.detach() - middle).abs() > half * _STEEP).sum()))


@looks("softmax")
def flat_shares(deep: Deep, call: Call) -> None:
    """Count the rows of shares of which one takes all, so that none of them moves."""
    out = call.out
    if _looked(deep, out) and call.made is not None and call.made.tracked and out.numel() < _ENTRIES:
        dim = call.get("dim", 1)
        if isinstance(dim, int) and out.shape[dim] > _FEW:
            most = out.detach().amax(dim)
            _note(deep, call, most.numel(), int((most > _ALL).sum()))


def _looked(deep: Deep, out: Any) -> bool:
    return deep.evaluation is None and isinstance(out, torch.Tensor) and out.dim() > 1 and len(out) >= 8


def _note(deep: Deep, call: Call, units: int, still: int) -> None:
    module = deep.stack[-1] if deep.stack else None
    known = deep.watcher.rectified.setdefault(
        (key(call.site), id(module)), {"site": call.site, "seen": [], "name": call.name.rstrip("_")}
    )
    known["built"] = deep.watcher.notes.built.get(module) or ()
    if len(known["seen"]) < _MOST:
        known["seen"].append((deep.watcher.notes.steps, units, still))
