"""What a Python list or numpy array holds that no tensor can: rows of other lengths, entries that are no numbers."""

from __future__ import annotations

from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.call import Operand, operands
from explainer.probes.places import span_fact as span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import MISSING, is_tensor

_LISTS = (list, tuple)
#: Longer lists are not searched.
LONGEST = 10**6


def _first(scene: Scene) -> Operand | None:
    found = operands(scene)
    return found[0] if found and found[0].node is not None and found[0].value is not MISSING else None


def _place(scene: Scene, operand: Operand, **detail: Any) -> SpanFact:
    return span_fact(scene.failing.source, operand.node, name=operand.name, **detail)  # type: ignore


@probe
def ragged_list(scene: Scene) -> SpanFact | None:
    """The nested list given to the failing call, where one row is longer or shorter than the first.

    `detail.position` are the indices of that row, `got` its length, `expected` the first row's, `rows` their number,
    `least` and `greatest` the lengths that occur.
    """
    operand = _first(scene)
    rows = operand.value if operand is not None else None
    if operand is None or rows is None or type(rows) not in _LISTS or not 0 < len(rows) <= LONGEST:
        return None
    if any(type(row) not in _LISTS for row in rows):
        return None
    lengths = [len(row) for row in rows]
    odd = next((at for at, length in enumerate(lengths) if length != lengths[0]), None)
    if odd is None:
        return None
    sizes = {"expected": lengths[0], "got": lengths[odd], "least": min(lengths), "greatest": max(lengths)}
    return _place(scene, operand, position=odd, rows=len(rows), **sizes)


@probe
def odd_entry(scene: Scene) -> SpanFact | None:
    """The first entry of a list given to the failing call that is a string or None, where a tensor takes numbers.

    `detail.position` are its indices, `type` the name of its class, `others` whether there are numbers as well.
    """
    operand = _first(scene)
    if operand is None or type(operand.value) not in _LISTS or not 0 < len(operand.value) <= LONGEST:
        return None
    entries = list(_entries(operand.value))
    odd = next(((at, one) for at, one in entries if type(one) is str or one is None), None)
    if odd is None:
        return None
    others = any(type(one) in (int, float, bool) for _, one in entries)
    return _place(scene, operand, position=odd[0], type=type(odd[1]).__name__, others=others)


def _entries(rows: Any) -> list[tuple[tuple[int, ...], Any]]:
    """The entries of a list, of rows of lists too, with their indices."""
    found: list[tuple[tuple[int, ...], Any]] = []
    for at, one in enumerate(rows):
        found += [((at, place), item) for place, item in enumerate(one)] if type(one) in _LISTS else [((at,), one)]
    return found


@probe
def tensor_list(scene: Scene) -> SpanFact | None:
    """The list of tensors given to the failing call: `detail.count` and the one `shape` that all have."""
    operand = _first(scene)
    items = operand.value if operand is not None and type(operand.value) in _LISTS else ()
    if operand is None or not items or not all(is_tensor(item) for item in items):
        return None
    shapes = {tuple(item.shape) for item in items}
    return _place(scene, operand, count=len(items), shape=shapes.pop()) if len(shapes) == 1 else None
