"""How a loss weighs its classes, beside how often each of them comes; rows of inputs that come again and again."""

from __future__ import annotations

import itertools
from typing import Any

import torch

from explainer.training.calls import REGRESSION, looks
from explainer.training.deep import Call, Deep

#: In how many batches rows that come several times are looked for.
_BATCHES = 8


@looks("binary_cross_entropy_with_logits", "cross_entropy", "nll_loss")
def weighed(deep: Deep, call: Call) -> None:
    """Add up how often each class came, for a loss that is given weights."""
    binary = call.name == "binary_cross_entropy_with_logits"
    weight, target = call.get("pos_weight", 6) if binary else call.get("weight", 2), call.get("target", 1)
    if deep.evaluation or not isinstance(weight, torch.Tensor) or not isinstance(target, torch.Tensor):
        return
    if binary and weight.numel() == 1:
        positive = int((target > 0.5).sum())
        counts, weights = [target.numel() - positive, positive], [1.0, float(weight)]
    elif not binary and not target.is_floating_point() and weight.dim() == 1 and len(weight) <= 1000:
        real = target[(target >= 0) & (target < len(weight))]
        counts, weights = torch.bincount(real.flatten(), minlength=len(weight)).tolist(), weight.tolist()
    else:
        return
    module = call.made.module if call.made is not None else None
    watcher = deep.watcher
    if watcher.notes.times["drawn-by-weight"] or _samples_by_weight(watcher):
        return  # what comes in batches is not how frequent classes are
    watcher.notes.saw("class-weights", call.site, binary=binary, built=watcher.notes.built.get(module), made=None)
    known = watcher.weighed.setdefault(call.site[:1], (weights, [0] * len(counts)))
    known[1][:] = [one + more for one, more in zip(known[1], counts, strict=True)] if weights == known[0] else known[1]


@looks("multinomial")
def drawn_by_weight(deep: Deep, call: Call) -> None:
    """Note samples that are drawn by weights."""
    deep.watcher.notes.times["drawn-by-weight"] += 1


def _samples_by_weight(watcher: Any) -> bool:
    plain = ("SequentialSampler", "RandomSampler", "DistributedSampler", "NoneType", "_InfiniteConstantSampler")
    return any(entry["taken"] and entry["sampler"] not in plain for entry in watcher.notes.loaders.values())


#: Of how many numbers of a row it is asked whether they come again.
_WIDTH = 1024


@looks(*REGRESSION, "cross_entropy", "nll_loss", "binary_cross_entropy_with_logits")
def repeated_rows(deep: Deep, call: Call) -> None:
    """Rows of numbers that come several times in one batch."""
    looked = deep.watcher.notes.times
    if deep.evaluation or looked["rows looked at", call.name] >= _BATCHES:
        return
    looked["rows looked at", call.name] += 1
    for given in deep.fed:
        if len(given) < 32 or not given.is_floating_point() or given.requires_grad:
            continue
        rows = given[:256].flatten(1)[:, :_WIDTH]
        distinct = len(torch.unique(rows, dim=0))
        if distinct <= 0.95 * len(rows):
            deep.watcher.notes.saw("rows-repeated", call.site, rows=len(rows), distinct=distinct)


def turned_round(weights: list[float], counts: list[int]) -> bool:
    """Whether the classes that come more often are also those that weigh more, each by a clear factor."""
    pairs = sorted((count, weight) for count, weight in zip(counts, weights, strict=True) if count and weight > 0)
    if len(pairs) < 2 or sum(counts) < 64 or pairs[-1][0] < 1.5 * pairs[0][0] or pairs[-1][1] < 1.3 * pairs[0][1]:
        return False
    rising = sum(after[1] >= before[1] for before, after in itertools.pairwise(pairs))
    return rising >= 0.9 * (len(pairs) - 1)


def known(watcher: Any, site: Any) -> tuple[list[float], list[int]]:
    """The weights of the classes at a loss, and how often each of them came in the steps looked at."""
    found: tuple[list[float], list[int]] = watcher.weighed[site[:1]]
    return found
