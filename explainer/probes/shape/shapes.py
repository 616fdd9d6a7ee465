"""Pairs of operands whose sizes do not fit: which dimension was meant, and how to get there."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from typing import Any

from explainer.facts import Settings, SpanFact
from explainer.probes import probe
from explainer.probes.built import bound, construction
from explainer.probes.call import Operand, call_node, operands
from explainer.probes.module import below_user
from explainer.probes.scene import Scene
from explainer.probes.values import fields_of, is_tensor, read
from explainer.source import Source

#: Losses that multiply by their weights element by element, not class by class.
_WEIGHTED = ("BCEWithLogitsLoss", "BCELoss", "MultiLabelSoftMarginLoss")


@probe
def aligned_operand(scene: Scene) -> SpanFact | None:
    """The smaller of two operands whose one size stands in the other's shape, but not at the right end.

    `detail`: `name`, `shape`, `size`, `other_name`, `other` (shapes), `dimension` of the other that has this size,
    `missing` trailing dimensions, and the `method` that adds them. The smaller one may be a weight that a loss holds.
    """
    for source, small, big in _unequal(scene):
        found = _aligned(tuple(small.value.shape), tuple(big.value.shape))
        if found is not None and small.node is not None:
            dimension, missing = found
            method = "unsqueeze(-1)" if missing == 1 else f"[..., {', '.join(['None'] * missing)}]"
            detail = (
                ("name", small.name),
                ("shape", tuple(small.value.shape)),
                ("size", small.value.shape[-1]),
                ("other_name", big.name),
                ("other", tuple(big.value.shape)),
                ("dimension", dimension),
                ("missing", missing),
                ("method", method),
            )
            return SpanFact(source.span(small.node), small.name, Settings(detail))
    return None


def _unequal(scene: Scene) -> Iterator[tuple[Source, Operand, Operand]]:
    """The pairs of tensors that met, with the source in which the first one is given."""
    tensors = [one for one in operands(scene) if is_tensor(one.value)]
    if scene.failing is not None:
        yield from ((scene.failing.source, *pair) for pair in itertools.permutations(tensors, 2))
    yield from ((source, weight, tensors[0]) for source, weight in _held_weights(scene) if tensors)


def _held_weights(scene: Scene) -> Iterator[tuple[Source, Operand]]:
    """The weights by which a failing loss of torch's multiplies element by element, where the loss was built."""
    layer = next((one.module for one in reversed(below_user(scene))), None)
    weights = [name for name in ("pos_weight", "weight") if is_tensor(fields_of(layer).get("_buffers", {}).get(name))]
    found = construction(scene, layer) if type(layer).__name__ in _WEIGHTED and weights else None
    given = bound(found[1], type(layer)) if found is not None else {}
    for name in weights:
        if found is not None and name in given:
            yield found[0], Operand(name, given[name], fields_of(layer)["_buffers"][name])


def _aligned(small: tuple[int, ...], big: tuple[int, ...]) -> tuple[int, int] | None:
    """The dimension of `big` at which `small` fits, and how many trailing ones it takes; None unless just one does."""
    if not small or len(small) >= len(big):
        return None
    fitting = []
    for missing in range(1, len(big) - len(small) + 1):
        window = big[len(big) - missing - len(small) : len(big) - missing]
        if all(a == b or a == 1 for a, b in zip(small, window, strict=True)) and small != (1,) * len(small):
            fitting.append((len(big) - missing - 1, missing))
    return fitting[0] if len(fitting) == 1 else None


@probe
def joined_tensors(scene: Scene) -> SpanFact | None:
    """The first two tensors of a failing `cat` or `stack` that differ in a size they must share.

    `detail`: both names and shapes, `axis`, the dimensions that `differ`, and whether an odd size was halved and
    doubled again (`odd`): they differ by one, and the first has an even size, as what was doubled has. The first is the
    one that was upsampled where just one is known to be, else the smaller; `short`: it is the smaller. `maps`: they are
    images or volumes, or one was upsampled.
    """
    frame, failing = scene.user_frame, scene.failing
    node = call_node(failing.node) if failing else None
    if frame is None or failing is None or not isinstance(node, ast.Call) or not node.args:
        return None
    parts = listed_parts(node.args[0], scene)
    axis = joining_axis(node, frame)
    for left, right in itertools.pairwise(parts):
        differ = _differing(left.value, right.value, axis)
        if differ:
            a, b = tuple(left.value.shape), tuple(right.value.shape)
            grown = [one for one in (left, right) if upsampled(one.value)]
            one = grown[0] if len(grown) == 1 else left if a[differ[0]] < b[differ[0]] else right
            other = right if one is left else left
            detail = (
                ("first_name", one.name),
                ("first", tuple(one.value.shape)),
                ("second_name", other.name),
                ("second", tuple(other.value.shape)),
                ("axis", axis),
                ("differ", tuple(differ)),
                ("odd", all(abs(a[d] - b[d]) == 1 and one.value.shape[d] % 2 == 0 for d in differ)),
                ("short", one.value.shape[differ[0]] < other.value.shape[differ[0]]),
                ("maps", axis == 1 and min(differ) > 1 and (len(a) in (4, 5) or bool(grown))),
            )
            return SpanFact(failing.source.span(one.node), one.name, Settings(detail))  # type: ignore[arg-type]
    return None


#: How many operations lie at most between an upsampling and its use.
_FAR = 8


def upsampled(tensor: Any) -> bool:
    """Whether the graph shows that a tensor, or what it was made of, was upsampled (or a transposed convolution)."""
    node = tensor.grad_fn
    for _ in range(_FAR):
        if node is None:
            return False
        if node.name().startswith(("Upsample", "PixelShuffle")) or getattr(node, "_saved_transposed", False) is True:
            return True
        before = [one for one, _ in node.next_functions if one is not None and one.name() != "AccumulateGrad"]
        node = before[0] if before else None
    return False


def listed_parts(node: ast.AST, scene: Scene) -> list[Operand]:
    """The tensors of a list display, or of a name that holds a list."""
    frame, source = scene.user_frame, scene.failing.source  # type: ignore[union-attr]
    if not isinstance(node, (ast.List, ast.Tuple)):
        held = read(node, frame.frame)  # type: ignore[union-attr]
        name = source.text(node)
        items = held if type(held) in (list, tuple) else ()
        return [Operand(f"{name}[{i}]", node, one) for i, one in enumerate(items[:64]) if is_tensor(one)]
    found = [Operand(source.text(part), part, read(part, frame.frame)) for part in node.elts]  # type: ignore[union-attr]
    return [one for one in found if is_tensor(one.value)]


def joining_axis(node: ast.Call, frame: Any) -> int:
    given = [word.value for word in node.keywords if word.arg in ("dim", "axis")] or node.args[1:2]
    value = read(given[0], frame.frame) if given else 0
    return value if type(value) is int else 0


def _differing(a: Any, b: Any, axis: int) -> list[int]:
    if a.dim() != b.dim():
        return []
    axis %= max(a.dim(), 1)
    return [d for d in range(a.dim()) if d != axis and a.shape[d] != b.shape[d]]
