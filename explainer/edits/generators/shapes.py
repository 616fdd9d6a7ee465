"""When shapes fit a call, and which small changes of layout there are: arithmetic on lists of sizes, no tensors."""

from __future__ import annotations

import math
from collections.abc import Iterator

Shape = list[int]
MATRIX = ("matmul", "bmm", "mm", "__matmul__", "__rmatmul__", "addmm", "baddbmm", "mv", "dot")
BROADCAST = (
    "add",
    "sub",
    "mul",
    "div",
    "true_divide",
    "pow",
    "where",
    "__add__",
    "__sub__",
    "__mul__",
    "__truediv__",
    "rsub",
    "add_",
    "sub_",
    "mul_",
    "div_",
    "masked_fill",
    "masked_fill_",
    "eq",
    "ne",
    "lt",
    "gt",
    "le",
    "ge",
    "maximum",
    "minimum",
    "__radd__",
    "__rmul__",
    "__rsub__",
    "__and__",
    "__or__",
    "__eq__",
    "copy_",
    "__iadd__",
    "__isub__",
    "__imul__",
    "__rtruediv__",
    "lerp",
    "cosine_similarity",
    "atan2",
)
SAME = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "kl_div",
        "binary_cross_entropy_with_logits", "poisson_nll_loss", "gaussian_nll_loss")  # fmt: skip


def by_channel(shape: Shape) -> bool:
    """Whether a tensor of this shape holds one number for each channel of a map: (C, 1, 1), (1, C, 1, 1)."""
    return len(shape) > 2 and shape[-2:] == [1, 1]


def fits(function: str, shapes: list[Shape]) -> bool | None:
    """Whether a call with these shapes would pass its shape check; None where the rule is not known here."""
    first, second = ([*shapes, [], []])[:2]
    if function in MATRIX:
        return _matrix(first, second)
    if function in BROADCAST:
        return broadcastable(first, second)
    if function in SAME:
        return first == second
    if function == "linear":
        return bool(first) and len(second) == 2 and first[-1] == second[1]
    if function.startswith("conv") and "transpose" not in function:
        return _convolution(first, second)
    if function == "layer_norm":
        return len(second) == 1 and bool(first) and first[-1] == second[0]
    if function == "batch_norm":
        return len(first) > 1 and bool(second) and first[1] == second[0]
    if function in ("cross_entropy", "nll_loss", "cross_entropy_loss"):
        return _classes(first, second)
    if function == "scaled_dot_product_attention":
        return _attention(*shapes) if len(shapes) in (3, 4) else None
    if function == "cat":
        return len({len(shape) for shape in shapes}) == 1 and bool(shapes)
    return None


def broadcastable(one: Shape, other: Shape) -> bool:
    """Whether two shapes broadcast."""
    return all(a == b or 1 in (a, b) for a, b in zip(reversed(one), reversed(other), strict=False))


def _attention(query: Shape, key: Shape, value: Shape, mask: Shape | None = None) -> bool:
    """Whether queries, keys and values fit together, and a mask broadcasts to all pairs of queries and keys."""
    if min(map(len, (query, key, value))) < 2:
        return False
    scores = [*query[:-1], key[-2]]
    given = query[-1] == key[-1] and key[-2] == value[-2] and query[:-2] == key[:-2] == value[:-2]
    masked = mask is None or (broadcastable(mask, scores) and len(mask) <= len(scores))
    return given and masked


def _matrix(one: Shape, other: Shape) -> bool:
    if len(one) < 2 or len(other) < 2:
        return bool(one) and bool(other) and one[-1] == other[0 if len(other) == 1 else -2]
    return one[-1] == other[-2] and broadcastable(one[:-2], other[:-2])


def _convolution(data: Shape, weight: Shape) -> bool:
    if len(weight) < 3 or len(data) not in (len(weight), len(weight) - 1):
        return False
    channels = data[1] if len(data) == len(weight) else data[0]
    return channels == weight[1] and all(size >= kernel for size, kernel in zip(data[-1:], weight[-1:], strict=True))


def _classes(scores: Shape, target: Shape) -> bool:
    if len(scores) < 2:
        return len(scores) == 1 and target in ([], scores)
    return target == [scores[0], *scores[2:]] or target == scores


def changes(shape: Shape, limit: int = 3) -> Iterator[tuple[str, Shape]]:
    """Small changes of layout with their results: `unsqueeze`, `squeeze`, `transpose`, `permute`, `flatten`."""
    rank = len(shape)
    for at in range(rank):
        if shape[at] == 1:
            yield f"squeeze({at if at < rank - 1 else -1})", shape[:at] + shape[at + 1 :]
    for at in range(rank, -1, -1) if rank < 2 else (1, 0, *range(2, rank + 1)):
        yield f"unsqueeze({at if at < rank else -1})", [*shape[:at], 1, *shape[at:]]
    if rank == 4:
        yield "permute(0, 3, 1, 2)", [shape[0], shape[3], shape[1], shape[2]]
        yield "permute(0, 2, 3, 1)", [shape[0], shape[2], shape[3], shape[1]]
    if rank == 3:
        yield "permute(2, 0, 1)", [shape[2], shape[0], shape[1]]
        yield "transpose(1, 2)", [shape[0], shape[2], shape[1]]
        yield "transpose(0, 1)", [shape[1], shape[0], shape[2]]
        yield "flatten(0, 1)", [shape[0] * shape[1], shape[2]]
    if rank == 2:
        yield "t()", shape[::-1]
        yield "flatten()", [shape[0] * shape[1]]
    if rank > 2:
        yield "flatten(1)", [shape[0], math.prod(shape[1:])]
        yield "transpose(-2, -1)", [*shape[:-2], shape[-1], shape[-2]]
    for at in range(1, rank):
        yield f"mean({at if at < rank - 1 else -1})", shape[:at] + shape[at + 1 :]
    yield from _singletons(shape, limit)


def _singletons(shape: Shape, limit: int) -> Iterator[tuple[str, Shape]]:
    """Two new dimensions at once, as masks and positions need them."""
    rank = len(shape)
    if not 1 <= rank <= limit:
        return
    for one in range(rank + 1):
        for other in range(one + 1, rank + 2):
            new = shape.copy()
            new.insert(one, 1)
            new.insert(other, 1)
            parts = ["None" if at in (one, other) else ":" for at in range(rank + 2)]
            yield f"[{', '.join(parts)}]", new
