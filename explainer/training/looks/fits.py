"""How much was learned: how far predictions are better than a constant one, how far the loss has fallen."""

from __future__ import annotations

import math
from typing import Any

import torch

from explainer.training.calls import REGRESSION, looks
from explainer.training.deep import Call, Deep, Made
from explainer.training.judge import main_losses
from explainer.training.sites import key

#: Comparisons that are kept of one place.
_MOST = 80
#: Entries of a factor that are looked through at most.
_FLAGS = 100_000
#: The share of the steps behind which a run shows what it has learned.
_LATE = 0.4
#: The fit from which on enough was learned.
_WELL = 0.85
_DIFFERENCES = ("sub", "__sub__", "rsub", "__rsub__")


@looks("cross_entropy", "nll_loss")
def classified(deep: Deep, call: Call) -> None:
    """Which share of the classes is right, beside the share of the most frequent one."""
    given, target = call.get("input", 0), call.get("target", 1)
    if not isinstance(target, torch.Tensor) or not isinstance(given, torch.Tensor) or given.dim() < 2:
        return
    if target.is_floating_point():
        target = target.argmax(1) if target.shape == given.shape else None
    if target is None or target.shape != (given.shape[0], *given.shape[2:]):
        return
    real = target != call.get("ignore_index", 4, -100)
    _note(deep, call, (given.detach().argmax(1) == target)[real], target[real])


@looks("binary_cross_entropy", "binary_cross_entropy_with_logits")
def decided(deep: Deep, call: Call) -> None:
    """The same of yes and no."""
    given, target = call.get("input", 0), call.get("target", 1)
    if isinstance(target, torch.Tensor) and isinstance(given, torch.Tensor) and given.shape == target.shape:
        least = 0.0 if call.name.endswith("logits") else 0.5
        _note(deep, call, (given.detach() > least) == (target > 0.5), (target > 0.5).long())


@looks("eq", "__eq__")
def counted(deep: Deep, call: Call) -> None:
    """The same in an evaluation that counts what is right."""
    if deep.evaluation is None or len(call.args) != 2:
        return
    one, other = call.args
    if not all(isinstance(each, torch.Tensor) for each in call.args) or one.shape != other.shape:
        return
    made = [_predicted(deep.made(each)) for each in call.args]
    if made[0] != made[1] and not one.is_floating_point() and one.numel() > 3:
        _note(deep, call, one == other, (other if made[0] else one).long())


def _predicted(made: Made | None) -> bool:
    """Whether a value goes back to the outputs of a model."""
    return made is not None and any(one.module is not None for one in made.all_behind(60))


@looks(*REGRESSION)
def regressed(deep: Deep, call: Call) -> None:
    """How far numbers are from their targets, beside those targets' spread."""
    _spread(deep, call, call.get("input", 0), call.get("target", 1))


@looks(*_DIFFERENCES)
def subtracted(deep: Deep, call: Call) -> None:
    """The same where a loss or a metric is written by hand."""
    if len(call.args) != 2 or deep.stack:
        return
    made = [_predicted(deep.made(each)) if isinstance(each, torch.Tensor) else None for each in call.args]
    if made in ([True, False], [False, True]):
        _spread(deep, call, *(call.args if made[0] else reversed(call.args)))


def _spread(deep: Deep, call: Call, given: Any, target: Any) -> None:
    if not isinstance(given, torch.Tensor) or not isinstance(target, torch.Tensor) or given.shape != target.shape:
        return
    if target.requires_grad or not target.is_floating_point() or target.dim() < 1 or len(target) < 4:
        return
    given, target = given.detach().double(), target.detach().double()
    _keep(deep, call, float((given - target).square().mean()), float(target.var(0, unbiased=False).mean()))


@looks("mul", "__mul__")
def flagged(deep: Deep, call: Call) -> None:
    """Factors that are 0 and 1: which values count, as a mask or the end of an episode says."""
    if deep.evaluation is not None or deep.stack or len(call.args) != 2:
        return
    for at, one in enumerate(call.args):
        plain = isinstance(one, torch.Tensor) and not one.requires_grad and one.is_floating_point()
        if plain and 1 < one.numel() < _FLAGS:
            number = not isinstance(call.args[1 - at], torch.Tensor)  # which stands on either side
            places = (1, 0) if number else (at,)
            if bool(((one == 0) | (one == 1)).all()):
                deep.watcher.notes.saw("flag", call.site, of=at, places=places)
            else:
                deep.watcher.notes.times["no flag", key(call.site), places] += 1


def _note(deep: Deep, call: Call, right: Any, classes: Any) -> None:
    """Note a share of right ones; the classes are counted over all comparisons of the place."""
    if classes.numel() and classes.numel() < 10_000_000:
        tally = deep.watcher.tallies.setdefault((key(call.site), deep.evaluation is not None), {})
        for value, count in zip(*(each.tolist() for each in classes.unique(return_counts=True)), strict=True):
            tally[value] = tally.get(value, 0) + count
        _keep(deep, call, float(right.float().mean()), None)


def _keep(deep: Deep, call: Call, value: float, spread: float | None) -> None:
    place = (key(call.site), deep.evaluation is not None)
    known = deep.watcher.fits.setdefault(place, [])
    if len(known) < _MOST:
        known.append((deep.watcher.notes.steps, value, spread))


def fits(watcher: Any, evaluation: bool) -> list[tuple[int, float]]:
    """By step, of the place that compares most often in the end: 1 if all is right, 0 if a constant does as well."""
    known = {place: rows for place, rows in watcher.fits.items() if place[1] == evaluation}
    if not known:
        return []
    begin = _LATE * watcher.notes.steps
    place = max(known, key=lambda one: (sum(step >= begin for step, *_ in known[one]), len(known[one])))
    tally = watcher.tallies.get(place)
    chance = max(tally.values()) / sum(tally.values()) if tally else 0.0
    if chance == 1:
        return []
    return [
        (step, (value - chance) / (1 - chance) if spread is None else 1 - value / spread)
        for step, value, spread in known[place]
        if spread is None or spread > 0
    ]


def last_fit(watcher: Any, evaluation: bool) -> float | None:
    """The best of the late comparisons of a run, since a phase that has just begun is late too; None without any."""
    found = fits(watcher, evaluation)
    late = [value for step, value in found if step >= _LATE * watcher.notes.steps]
    return max(late, default=None)


def learned(watcher: Any) -> float:
    """Which share of its first value the loss has lost; negative where it has grown, -inf where it is no number."""
    losses = main_losses({"losses": watcher.notes.losses, "sites": watcher.notes.loss_sites})
    if len(losses) < 20:
        return math.nan
    begin = losses[: max(1, len(losses) // 20)]
    first = min(losses[0], sum(begin) / len(begin))  # one that explodes does so at once
    part = losses[-max(1, len(losses) // 5) :]
    last = sum(part) / len(part)
    if not math.isfinite(last):
        return -math.inf
    return (first - last) / abs(first) if first else 0.0


def learned_well(watcher: Any) -> bool:
    """Whether training or evaluation fit so well that enough was learned, by the loss where nothing is compared."""
    found = [one for one in (last_fit(watcher, False), last_fit(watcher, True)) if one is not None]
    return max(found, default=learned(watcher)) >= _WELL
