"""Indices and labels that lie outside their range: the first one, where it stands, and how many there are."""

from __future__ import annotations

from typing import Any

from explainer.facts import Settings
from explainer.probes import probe
from explainer.probes.scene import Scene
from explainer.probes.values import readable

#: Larger tensors are not scanned.
LARGEST = 10**8
#: So few labels may lack a 0 by chance.
_ENOUGH = 6


@probe
def out_of_range(
    scene: Scene, of: Any = None, limit: Any = None, low: int = 0, except_for: Any = None
) -> Settings | None:
    """The first entry of an integer tensor on the CPU outside low..limit-1 (the only value that is ever named).

    `limit` is a number or a plain value's fact, or a layer's fact whose `num_embeddings` counts, or a tensor's fact
    whose dimension 1 (or the only one) is the number of classes. `except_for` is an ignored label. Gives `value`,
    `position` (indices), `count`, `least`, `greatest`, `limit`.
    """
    tensor = scene.objects.get(of.name) if of is not None else None
    top = _limit(limit)
    if top is None or not readable(tensor, LARGEST) or tensor.is_floating_point() or tensor.is_complex():
        return None
    plain = tensor.detach()
    wrong = (plain < low) | (plain >= top)
    if type(except_for) is int:
        wrong &= plain != except_for
    count = int(wrong.sum())
    if not count:
        return None
    position = tuple(int(i) for i in wrong.nonzero()[0])
    span = (("least", int(plain.min())), ("greatest", int(plain.max())), ("limit", top), ("low", low))
    return Settings((("value", int(plain[position])), ("position", position), ("count", count), *span))


def _limit(limit: Any) -> int | None:
    number = getattr(limit, "value", limit)
    if type(number) is int:
        return number
    shape = getattr(limit, "shape", None)
    if shape:
        return int(shape[1] if len(shape) > 1 else shape[0])
    try:
        return int(limit["num_embeddings"])
    except (KeyError, TypeError):
        return None


@probe
def two_signs(scene: Scene, of: Any = None) -> Settings | None:
    """How often -1 (`negative`) and 1 (`positive`) stand in a tensor of whole numbers that holds nothing else.

    None where one of them occurs too seldom for a 0 to be missing by chance.
    """
    tensor = scene.objects.get(of.name) if of is not None else None
    if not readable(tensor, LARGEST) or tensor.is_floating_point() or tensor.is_complex():
        return None
    counts = [int((tensor.detach() == sign).sum()) for sign in (-1, 1)]
    if sum(counts) != tensor.numel() or sum(counts) < _ENOUGH or not all(counts):
        return None
    return Settings((("negative", counts[0]), ("positive", counts[1])))


@probe
def if_too_large(scene: Scene, of: Any = None, wrong: Any = None, otherwise: Any = None) -> Any:
    """A fact on a table's size, to be blamed for an index beyond its end; another one for an index below 0."""
    return otherwise if wrong is not None and wrong["value"] < 0 else of


@probe
def size_along(scene: Scene, of: Any = None, dimension: Any = 0) -> int | None:
    """The size of a tensor along a dimension given as a number or as the fact of a plain value."""
    number = getattr(dimension, "value", dimension)
    shape = getattr(of, "shape", None)
    if type(number) is not int or not shape or not -len(shape) <= number < len(shape):
        return None
    return int(shape[number])


@probe
def one_hot_range(scene: Scene, of: Any = None, classes: Any = None) -> Settings | None:
    """The first label that `one_hot` has no column for: below 0, or not below the number of classes where one is told.

    See `out_of_range`; `limit` is none where only negative labels are wrong.
    """
    told = getattr(classes, "value", None)
    if type(told) is int and told > 0:
        return out_of_range(scene, of, told)
    return out_of_range(scene, of, 1 << 62)
