"""One expression that asks for absurdly much memory: a broadcast to (N, N), a one-hot of raw ids."""

from __future__ import annotations

import itertools
import re
from math import prod
from typing import Any

from explainer.facts import OriginFact, TensorFact
from explainer.probes import probe
from explainer.probes.call import call_node, function_name, operands
from explainer.probes.scene import Scene
from explainer.probes.tensor import fact_of
from explainer.probes.values import is_tensor

_ASKED = re.compile(r"tried to allocate (\d+) bytes|Tried to allocate ([\d.]+) ([KMGTP]i?B)")
_UNITS = {unit: 1024**power for power, unit in enumerate(("KiB", "MiB", "GiB", "TiB", "PiB"), start=1)}


@probe
def asked_bytes(scene: Scene) -> int | None:
    """How many bytes the failed allocation asked for, as the message says (rounded where it gives GiB)."""
    found = _ASKED.search(scene.crash.message)
    if found is None:
        return None
    return int(found[1]) if found[1] else round(float(found[2]) * _UNITS.get(found[3], 1))


@probe
def broadcast(scene: Scene) -> OriginFact | None:
    """Two operands that broadcast to something far larger than either: (N, 1) and (N,) to (N, N).

    `before` are the two shapes, `after` the result's; `operator` the operation.
    """
    failing = scene.failing
    tensors = [one for one in operands(scene) if is_tensor(one.value)]
    if failing is None:
        return None
    for left, right in itertools.combinations(tensors, 2):
        shapes = tuple(left.value.shape), tuple(right.value.shape)
        result = broadcast_shape(*shapes)
        if result is not None and prod(result) > 8 * max(prod(shapes[0]), prod(shapes[1]), 1):
            return OriginFact("broadcast", function_name(call_node(failing.node)), shapes, result, (), failing.span)
    return None


def broadcast_shape(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape that two shapes broadcast to, None where they don't."""
    size = max(len(left), len(right))
    left, right = (1,) * (size - len(left)) + left, (1,) * (size - len(right)) + right
    if any(a != b and 1 not in (a, b) for a, b in zip(left, right, strict=True)):
        return None
    return tuple(max(a, b) if 0 not in (a, b) else 0 for a, b in zip(left, right, strict=True))


@probe
def column(scene: Scene) -> TensorFact | None:
    """The operand of shape (N, 1) that meets one of shape (N,)."""
    tensors = [one for one in operands(scene) if is_tensor(one.value)]
    for one, other in itertools.permutations(tensors, 2):
        if (
            one.value.dim() == other.value.dim() + 1
            and one.value.shape[-1] == 1
            and one.value.shape[:-1] == other.value.shape
        ):
            scene.objects[one.name] = one.value
            return _fact(scene, one)
    return None


@probe
def largest_index(scene: Scene, of: Any = None) -> int | None:
    """The largest value of an integer tensor on the CPU of at most 100 million elements."""
    tensor = scene.objects.get(of.name) if of is not None else None
    if (
        not is_tensor(tensor)
        or tensor.device.type != "cpu"
        or tensor.is_floating_point()
        or not 0 < tensor.numel() <= 10**8
    ):
        return None
    return int(tensor.max())


def _fact(scene: Scene, operand: Any) -> Any:
    span = scene.failing.source.span(operand.node) if scene.failing and operand.node is not None else None
    return fact_of(operand.name, operand.value, span)
