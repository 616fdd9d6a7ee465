"""The terms of a loss: which of them are averages over the batch, which are sums over it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from explainer.training.calls import ELEMENTWISE, settings
from explainer.training.deep import Made

_SUMS, _SCALES = (
    ("add", "__add__", "__radd__", "__iadd__", "sub", "__sub__"),
    ("mul", "__mul__", "__rmul__", "neg", "__neg__"),
)
#: Values of each sample from which on their mean is far smaller than their sum.
_MANY = 8
_QUOTIENTS = ("div", "__truediv__", "true_divide")
#: Losses that average unless they are told otherwise.
AVERAGED = (
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "cross_entropy",
    "nll_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "kl_div",
    "gaussian_nll_loss",
)


def terms(made: Made, weight: float = 1.0, depth: int = 12) -> Iterator[tuple[Made, float]]:
    """The terms that a scalar is the sum of, each with the numbers it is multiplied by."""
    if depth and made.name in _SUMS and made.shape == ():
        known = [one for one in made.inputs if one is not None]
        for one in known:
            yield from terms(one, weight, depth - 1)
        return
    numbers = [value for value in made.args if isinstance(value, (int, float)) and not isinstance(value, bool)]
    known = [one for one in made.inputs if one is not None]
    if depth and len(known) == 1 and made.shape == () and made.name in (*_SCALES, *_QUOTIENTS):
        factor = numbers[0] if numbers else 1.0
        factor = 1 / factor if made.name in _QUOTIENTS and factor else factor
        yield from terms(known[0], weight * abs(factor), depth - 1)
        return
    yield made, weight


def reduction(made: Made, batch: int) -> str | None:
    """`mean` or `sum` where a term is one over the whole batch; None otherwise."""
    sizes = made.shapes[0] if made.shapes else ()
    if not sizes or sizes[0] != batch or batch < 2 or not made.tracked:
        return None
    if made.name in AVERAGED:
        given = made.kwargs.get("reduction", "mean")
        return given if given in ("mean", "sum") else None
    if made.name in ("mean", "sum") and made.argument("dim", 1) is None:
        return str(made.name)
    return None


def divided(watcher: Any, made: Made) -> dict[str, Any] | None:
    """By what a loss is divided, where, and how it goes over the batch; None where it has several terms."""
    found = list(terms(made))
    batch = _batch(watcher)
    if len(found) != 1 or batch is None or not found[0][1]:
        return None
    one, weight = found[0]
    return {"divisor": 1 / weight, "site": made.site, "at": one.site, "reduction": reduction(one, batch)}


def within(made: Made | None, batch: int, depth: int = 6) -> tuple[str, int, Made] | None:
    """How a term that is averaged over the batch goes over the values of each sample: `mean` or `sum`, of how many."""
    if made is None or not depth or not made.shapes:
        return None
    sizes = made.shapes[0]
    whole = made.argument("dim", 1) is None and not made.shape
    if made.name in ELEMENTWISE or (made.name == "mean" and whole and len(sizes) > 1):
        count = math.prod(sizes[1:])
        return ("mean", count, made) if count > 1 and sizes[:1] == (batch,) else None
    if made.name in ("mean", "sum") and made.shape == (batch,) and sizes[:1] == (batch,) and len(sizes) > 1:
        return made.name, math.prod(sizes[1:]), made
    if (made.name == "mean" and whole) or made.name in (*_SCALES, *_QUOTIENTS, "squeeze"):
        known = [one for one in made.inputs if one is not None]
        return within(known[0], batch, depth - 1) if len(known) == 1 else None
    return None


def look_at_terms(watcher: Any, made: Made) -> None:
    """Note a loss one term of which is summed, over the batch or over a sample's values, and another one averaged."""
    batch = _batch(watcher)
    if batch is None:
        return
    _look_within(watcher, made, batch)
    found = [(one, weight, reduction(one, batch)) for one, weight in terms(made)]
    means = [one for one in found if one[2] == "mean"]
    sums = [one for one in found if one[2] == "sum" and one[1] >= 0.1]
    if len(means) == 1 and len(sums) == 1:
        one, other = means[0][0], sums[0][0]
        watcher.notes.saw(
            "loss-terms-reduction-mismatch",
            other.site,
            mean=settings(one, watcher.deep),
            sum=settings(other, watcher.deep),
            batch=batch,
            each=False,
            averaged=_count(one),
            summed=_count(other),
        )


def _look_within(watcher: Any, made: Made, batch: int) -> None:
    """Note a term that averages over many values of each sample beside one that sums over some."""
    found = [(within(one, batch), weight) for one, weight in terms(made) if reduction(one, batch) != "sum"]
    means = [(one, weight) for one, weight in found if one is not None and one[0] == "mean" and one[1] >= _MANY]
    sums = [(one, weight) for one, weight in found if one is not None and one[0] == "sum"]
    if len(means) == 1 and len(sums) == 1 and sums[0][1] >= 0.1 * means[0][1]:
        (_, averaged, one), (_, summed, other) = means[0][0], sums[0][0]
        watcher.notes.saw(
            "loss-terms-reduction-mismatch",
            other.site,
            of="each",
            each=True,
            mean=settings(one, watcher.deep),
            sum=settings(other, watcher.deep),
            batch=batch,
            averaged=averaged,
            summed=summed,
        )


def _count(made: Made) -> int:
    return math.prod(made.shapes[0])


def _batch(watcher: Any) -> int | None:
    """The samples of this iteration: the first size of what the first model called was given."""
    for root in watcher.notes.roots.values():
        for mode in reversed(root["modes"]):
            if mode.fingerprint is not None and not mode.evaluation:
                return int(mode.fingerprint[0][0])
    return None
