"""Logarithms of a guard: what keeps them from zero is far larger than all the values that they are of."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch

from explainer.training.calls import looks
from explainer.training.deep import Call, Deep, Made
from explainer.training.sites import key

_GUARDS = {"add": "other", "__add__": "other", "__radd__": "other", "clamp": "min", "clip": "min", "clamp_min": "min"}
#: The share of a guard up to which a value is of no account, and the largest guard that is taken for one.
_NOTHING, _LARGEST = 1e-3, 1e-3
#: What multiplies, and at how many turns it makes a product of many factors.
_TIMES, _MANY = ("mul", "__mul__", "matmul", "__matmul__", "bmm", "einsum"), 12


@looks("log", "log2", "log10")
def log_of_guard(deep: Deep, call: Call) -> None:
    """`log(p + eps)` where every p is next to nothing: it is log(eps), and what p was made from learns nothing."""
    given = call.args[0] if call.args else None
    made = deep.made(given) if isinstance(given, torch.Tensor) and given.requires_grad else None
    if given is None or made is None or deep.evaluation is not None or made.name not in _GUARDS:
        return
    guard = made.argument(_GUARDS[made.name], 1)
    guard = made.args[0] if guard is None and made.args else guard
    if not isinstance(guard, float) or not 0 < guard <= _LARGEST:
        return
    deep.watcher.notes.times["guarded", key(call.site)] += 1
    if bool((given.detach() <= guard * (1 + _NOTHING)).all()):
        product = _product(made)
        deep.watcher.notes.saw("log-of-guard", call.site, guard=guard, count=given.numel(),
                               product=product.site if product else (), factors=_factors(product),
                               recursion=product is not None and product.name != "prod")  # fmt: skip


def _product(made: Made) -> Made | None:
    """The product that a guarded value is, or the last one of a recursion that multiplies at one place many times."""
    inner = next((one for one in made.inputs if one is not None), None)
    if inner is None or inner.name == "prod":
        return inner
    again = [one for one in inner.all_behind() if one.name in _TIMES and one.site]
    places = Counter(key(one.site) for one in again)
    place, many = places.most_common(1)[0] if places else (None, 0)
    return next(one for one in again if key(one.site) == place) if many >= _MANY else None


def _factors(product: Made | None) -> int:
    """How many factors a product has; of a recursion that is not known."""
    shape = product.shapes[0] if product is not None and product.name == "prod" and product.shapes else ()
    dim: Any = product.argument("dim", 1) if product is not None else None
    return shape[dim] if isinstance(dim, int) and shape else 0
