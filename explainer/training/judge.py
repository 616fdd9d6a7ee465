"""Whether training went better with an edit than without: its own numbers and its losses, stretch by stretch."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from explainer.frozen import frozen
from explainer.patterns import Pattern

_NUMBER = Pattern(r"([A-Za-z_][\w@.-]*?)\s*(?:=|:|\s)\s*(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|nan|inf)(%?)(?![\w.])")
_UP = frozenset(
    [
        "acc",
        "accuracy",
        "f1",
        "auc",
        "auroc",
        "r2",
        "precision",
        "recall",
        "map",
        "iou",
        "miou",
        "dice",
        "psnr",
        "ssim",
        "bleu",
        "corr",
        "correlation",
        "reward",
        "return",
        "explained",
        "top1",
        "top5",
        "correct",
        "hits",
        "ndcg",
        "mrr",
        "hit",
        "right",
        "success",
        "solved",
        "match",
        "exact",
        "score",
        "consistency",
        "similarity",
        "agreement",
        "cosine",
        "purity",
        "quality",
        "snr",
        "kappa",
        "mcc",
        "auprc",
        "spearman",
        "pearson",
        "win",
        "winrate",
        "elbo",
        "fit",
        "concordance",
        "cindex",
        "ari",
        "nmi",
        "jaccard",
        "ap",
        "hr",
    ]
)
_DOWN = frozenset(
    [
        "loss",
        "error",
        "err",
        "mse",
        "mae",
        "rmse",
        "nll",
        "ppl",
        "perplexity",
        "cer",
        "wer",
        "fid",
        "bce",
        "nmse",
        "mape",
        "bits",
        "bpc",
        "distance",
        "gap",
        "divergence",
        "wasserstein",
        "chamfer",
        "mmd",
        "emd",
        "swd",
        "kl",
        "residual",
        "regret",
        "drift",
        "mismatch",
        "deviation",
        "ece",
        "brier",
        "crps",
        "mb",
        "mib",
        "gb",
        "growth",
        "memory",
        "seconds",
        "slowdown",
        "ms",
        "time",
        "wait",
        "leak",
        "graphs",
        "nodes",
        "cost",
        "risk",
        "bpd",
        "logloss",
        "eer",
        "smape",
        "rmsle",
    ]
)
#: Those of them that say what a run takes, not what it learns.
COSTS = frozenset(["mb", "mib", "gb", "growth", "memory", "seconds", "slowdown", "ms", "time", "wait", "leak"])
#: What has no bound above, unlike a share.
UNBOUNDED = frozenset(["return", "reward", "psnr", "snr", "elbo"])
_STRETCHES = 5
#: Which part of what a share lacks no luck brings.
_MOST = 0.7
_NONE: Mapping[str, bool | float] = {}
#: What is compared where a program prints no number of its own: how well its evaluation fits, and by how much at least.
FIT, _CLEARER = "evaluation fit", 0.2


@frozen
class Compared:
    """What a pair of runs showed. `better` and `worse` speak of the program's own numbers, or else of its loss.

    `rising` says whether the number compared gets better by rising.
    """

    better: bool
    worse: bool
    metric: str = ""
    before: float = math.nan
    after: float = math.nan
    first: float = math.nan
    loss_before: float = math.nan
    loss_after: float = math.nan
    steps: int = 0
    rising: bool = False


def compared(
    control: Mapping[str, Any], edited: Mapping[str, Any], comparable: bool = True, fitting: bool = False
) -> Compared:
    """The run with an edit beside the one without. `fitting`: an edit may change what the losses mean."""
    known = control.get("directions", {})
    own, others = metrics(control["printed"], known), metrics(edited["printed"], known)
    shared = [name for name in own if name in others]
    first, before, after = _losses(control, edited)
    steps = min(control["steps"], edited["steps"])
    numbers = (first, before, after, steps)
    if fitting and all(name.endswith("loss") for name in shared):
        fits = control.get("evaluated"), edited.get("evaluated")
        if None not in fits or all(_is_last_loss(name, own[name], control) for name in shared):
            return _fitted(*fits, numbers)
    if shared:
        gains = {name: share(own[name], others[name], rises(name, known)) for name in shared}
        name = max(gains, key=lambda one: abs(gains[one]))
        better = max(gains.values()) > 0.05 and min(gains.values()) > -0.02
        if better and _is_last_loss(name, own[name], control):
            better = not comparable or _lower(control, edited)
        up = bool(rises(name, known))
        return Compared(better, min(gains.values()) < -0.05, name, own[name], others[name], *numbers, rising=up)
    if not comparable or math.isnan(before) or math.isnan(after):
        return Compared(False, False, "", math.nan, math.nan, *numbers)
    return Compared(_lower(control, edited), _lower(edited, control), "", math.nan, math.nan, *numbers)


def _fitted(before: float | None, after: float | None, numbers: tuple[float, float, float, int]) -> Compared:
    """The same by how well the evaluation fits, which no edit of the training changes the meaning of."""
    if before is None or after is None:
        return Compared(False, False, "", math.nan, math.nan, *numbers)
    return Compared(after - before > _CLEARER, after - before < -_CLEARER, FIT, before, after, *numbers, rising=True)


def _is_last_loss(name: str, value: float, run: Mapping[str, Any]) -> bool:
    """Whether a number that is printed is one of the last batches' loss: one draw, which the losses say better."""
    last = main_losses(run)[-1:] if name.endswith("loss") else []
    return any(abs(value - one) <= 1e-2 * abs(one) for one in last)


def gain(pair: Compared) -> float:
    """By which share a run went better, in the program's own number or else in its loss."""
    if pair.metric:
        return share(pair.before, pair.after, pair.rising)
    return share(pair.loss_before, pair.loss_after, False)


def strong(pair: Compared) -> bool:
    """Whether an edit that no structural fact asks for changed so much that chance does not explain it.

    A number of the program that rises a little while its loss stays where it was has been lucky; a share that gets
    most of what it lacked has not.
    """
    fallen = pair.loss_before - pair.loss_after
    flat = math.isfinite(pair.loss_before) and fallen <= 0.02 * abs(pair.loss_before)
    filled = pair.rising and 0 <= pair.before < pair.after <= 1 and pair.after - pair.before > _MOST * (1 - pair.before)
    return filled or gain(pair) > (0.5 if flat else 0.15 if pair.metric else 0.4)


def metrics(printed: str, known: Mapping[str, bool | float] = _NONE) -> dict[str, float]:
    """The numbers with a known direction in the last line that has any. `known` are directions, or goals, by name."""
    for line in reversed(printed.strip().splitlines()):
        found = {}
        for match in _NUMBER.finditer(line):
            name, value = match.group(1).lower(), float(match.group(2))
            goal = known.get(name)
            if type(goal) is float:
                found[f"|{name} - {goal:g}|"] = abs(value - goal)
            elif rises(name, known) is not None:
                found[name] = value
        if found:
            return found
    return {}


def results(printed: str, costs: Collection[str]) -> list[tuple[str, float]]:
    """The numbers with a name that a program prints, but for those that say what it takes: `costs`, and by their words.

    They are what an edit that only saves work must leave as they are.
    """
    found = [(match.group(1).lower(), float(match.group(2))) for match in _NUMBER.finditer(printed)]
    return [one for one in found if one[0] not in costs and not COSTS & set(re.split(r"[^a-z0-9]+", one[0]))]


def rises(name: str, known: Mapping[str, bool | float] = _NONE) -> bool | None:
    """Whether a quantity gets better by rising: by the words of its name, else by what is `known`; None if unknown."""
    if name.startswith("|") or type(known.get(name.lower())) is float:
        return False
    words = [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word]
    words += ["cindex"] if words[-2:] == ["c", "index"] else []
    if any(word in _DOWN or word.endswith(("loss", "error")) for word in words):
        return False
    up = any(word in _UP or word.startswith("acc") for word in words)
    return up or (bool(known[name.lower()]) if name.lower() in known else None)


def is_share(name: str) -> bool:
    """Whether a number of a name may be a share of something, 1 at best."""
    return not UNBOUNDED & set(re.split(r"[^a-z0-9]+", name))


def share(before: float, after: float, up: bool | None) -> float:
    """By which share of its size a number got better; a number that is none is as bad as can be."""
    if not math.isfinite(after):
        return -1.0 if math.isfinite(before) else 0.0
    if not math.isfinite(before):
        return 1.0
    size = max(abs(before), abs(after), 1e-12)
    return (after - before) / size if up else (before - after) / size


def main_losses(run: Mapping[str, Any]) -> list[float]:
    """The losses of the backward that ran most often, the last of those where several did alike."""
    counts = Counter(run["sites"])
    if not counts:
        return []
    most = max(counts.values())
    site = max(one for one, count in counts.items() if count == most)
    return [loss for loss, at in zip(run["losses"], run["sites"], strict=False) if at == site]


def _losses(control: Mapping[str, Any], edited: Mapping[str, Any]) -> tuple[float, float, float]:
    one, other = main_losses(control), main_losses(edited)
    count = min(len(one), len(other))
    if count < 5:
        return math.nan, math.nan, math.nan
    part = max(count // _STRETCHES, 1)
    return _mean(one[: max(part // 4, 1)]), _mean(one[count - part : count]), _mean(other[count - part : count])


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def _lower(control: Mapping[str, Any], edited: Mapping[str, Any]) -> bool:
    """Whether the loss of the second run lies lower in nearly every stretch of the second half, and clearly so."""
    one, other = main_losses(control), main_losses(edited)
    count = min(len(one), len(other))
    if count < 2 * _STRETCHES:
        return False
    half = count // 2
    size = max((count - half) // _STRETCHES, 1)
    pairs = [(_mean(one[at : at + size]), _mean(other[at : at + size])) for at in range(half, count - size + 1, size)]
    lower = sum(after < before or (not math.isfinite(before) and math.isfinite(after)) for before, after in pairs)
    total_before, total_after = _mean([p[0] for p in pairs]), _mean([p[1] for p in pairs])
    clear = not math.isfinite(total_before) or total_before - total_after > 0.1 * abs(total_before)
    return math.isfinite(total_after) and lower >= len(pairs) - 1 and clear
