"""What sets the sizes that windows and groups leave: a stride, a kernel, a padding, what a width is a multiple of."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Sequence

from explainer.bindings import last_name, named_values
from explainer.edits.evidence import Evidence
from explainer.edits.place import as_primary
from explainer.repair.atoms.common import expressions, integer, integers, number
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.repair.uses import parameter_of, uses
from explainer.source import called

#: Dimensions in front of those that windows go along: samples and channels.
_FRONT = 2
#: Where the numbers of layers are written.
_ROLES = ("built", "given", "setting", "number", "bound")
_Pairs = Sequence[tuple[int, int]]
_DIVISIBLE = re.compile(r"\((\d+)\) (?:must|should|has to) be divisible by \w+ \((\d+)\)")


def window(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`def block(a, b, stride=2)` -> `stride=1`: what may bring together two sizes that meet, such as 4 and 8."""
    pairs = _apart(evidence) if spot.role in _ROLES else []
    for node in expressions(spot) if pairs else ():
        value = number(node)
        name = parameter_of(spot.place.source, node, evidence) if value is not None else ""
        kinds = {name} | uses(evidence).get(name, frozenset()) if name else frozenset()
        for kind, others in _OTHERS.items():
            if kind in kinds and value is not None:
                yield from (Offer("window", spot, node, str(new), kind) for new in others(value, pairs))


def padded(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`(n - kernel) // stride + 1` -> `(n + 2 * (kernel // 2) - kernel) // stride + 1`: how windows are padded."""
    for node in expressions(spot):
        inner = node.left if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.FloorDiv, ast.Div)) else None
        if not isinstance(inner, ast.BinOp) or not isinstance(inner.op, ast.Sub) or "pad" in ast.unparse(inner):
            continue
        size, kernel = (spot.place.source.text(one) for one in (inner.left, inner.right))
        for at, padding in enumerate(_written(spot, kernel)):
            yield Offer("padded", spot, inner, f"{size} + 2 * {padding} - {kernel}", "padding", 0.1 * at)


def overlapping(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`n // stride` -> `(n - kernel) // stride + 1`: how many windows of a layer there are, which overlap.

    So with `n + stride - 1`, which counts them for a layer that is padded: what is added there goes.
    """
    kinds = uses(evidence)
    kernels = [name for name in integers(spot) if "kernel_size" in kinds.get(name.rpartition(".")[2], ())]
    for node in expressions(spot):
        pair = _divided(node)
        if pair is None or "stride" not in kinds.get(last_name(pair[1]), ()):
            continue
        size, stride = (spot.place.source.text(one) for one in pair)
        old = f"{size} // {stride}" if isinstance(node, ast.BinOp) else spot.place.source.text(node)
        sizes = dict.fromkeys((spot.place.source.text(_first_term(pair[0])), size))
        for at, (kernel, whole) in enumerate((one, of) for of in sizes for one in kernels if one not in (size, stride)):
            inner = f"({whole} - {kernel})" if isinstance(node, ast.BinOp) else f"{whole} - {kernel}"
            yield Offer("overlapping", spot, node, f"{old.replace(size, inner, 1)} + 1", "kernel", 0.1 * at)


def _first_term(node: ast.expr) -> ast.expr:
    """`n` of `n + stride - 1`."""
    while isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        node = node.left
    return node


def multiple(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`round(width * scale)` -> `round(width * scale / groups) * groups`: a size that groups do not divide.

    The message has both numbers: "num_channels (22) must be divisible by num_groups (8)".
    """
    said = _DIVISIBLE.search(evidence.message)
    if said is None:
        return
    size, groups = map(int, said.groups())
    constants = [(name, number(value)) for one in getattr(spot.place.source.tree, "body", ())
                 for name, value in named_values(one)]  # fmt: skip
    known = [name for name, value in (*integers(spot).items(), *constants) if value == groups] or [str(groups)]
    for node in expressions(spot):
        worth, rounds = integer(spot, node), isinstance(node, ast.Call) and called(node) == "round"
        for at, name in enumerate(known[:2]):
            if rounds and len(node.args) == 1 and worth in (size, None):  # type: ignore[attr-defined]
                new = f"round({_factor(spot, node.args[0])} / {name}) * {name}"  # type: ignore[attr-defined]
                yield Offer("multiple", spot, node, new, "rounded", 0.1 * at)
            elif isinstance(node, (ast.Call, ast.BinOp)) and worth == size:
                whole = as_primary(spot.place.at(node))
                yield Offer("multiple", spot, node, f"{whole} // {name} * {name}", "down", 0.2 + 0.1 * at)


def _factor(spot: Spot, node: ast.expr) -> str:
    """The source of what is to be divided: a sum in parentheses."""
    sums = isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub))
    return as_primary(spot.place.at(node)) if sums else ast.unparse(node)


def _divided(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """The two sides of a division that leaves whole numbers: `n // stride`, `torch.div(n, stride)`, rounded."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
        return node.left, node.right
    functional = isinstance(node, ast.Call) and ast.unparse(node.func) in ("torch.div", "torch.floor_divide")
    return (node.args[0], node.args[1]) if functional and len(node.args) == 2 else None  # type: ignore[attr-defined]


def _written(spot: Spot, kernel: str) -> list[str]:
    """How the layers of a file are padded: half a kernel, or a number."""
    source, found = spot.place.source, dict[str, None]()
    for one in source.nodes():
        value = one.value if isinstance(one, ast.keyword) and one.arg == "padding" else None
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.FloorDiv) and ast.unparse(value.right) == "2":
            found[f"({kernel} // 2)"] = None
        elif value is not None and number(value):
            found[str(number(value))] = None
    return list(found)


def _apart(evidence: Evidence) -> _Pairs:
    """The sizes behind the channels in which tensors of one rank that meet at the failing call differ."""
    shapes = [shape for shape, _ in evidence.crash.before] if evidence.crash is not None else []
    pairs = [(one[at], other[at]) for one in shapes for other in shapes if len(one) == len(other)
             for at in range(_FRONT, len(one)) if one[at] > other[at] > 1]  # fmt: skip
    return list(dict.fromkeys(pairs))


def _strides(value: int, pairs: _Pairs) -> list[int]:
    """A stride times, or through, what one size is of the other, rounding aside, or of both sides of what is flat."""
    ratios = {round(one / other) for one, other in pairs} - {1}
    ratios |= {math.isqrt(ratio) for ratio in ratios if math.isqrt(ratio) ** 2 == ratio}
    found = [value * ratio for ratio in ratios] + [value // ratio for ratio in ratios if value % ratio == 0]
    return [one for one in dict.fromkeys(found) if one != value]


def _kernels(value: int, pairs: _Pairs) -> list[int]:
    """A kernel that takes away more, or less, by as much as the sizes differ."""
    found = [value + step for one, other in pairs for step in (other - one, one - other)] + [value + 1, value - 1]
    return [one for one in dict.fromkeys(found) if 0 < one <= 4 * value]


def _paddings(value: int, pairs: _Pairs) -> list[int]:
    """A padding that adds more, or less, on both sides by as much as the sizes differ."""
    found = [value + step * ((one - other + 1) // 2) for one, other in pairs for step in (1, -1)]
    return [one for one in dict.fromkeys([*found, value + 1, value - 1]) if one >= 0]


_OTHERS = {"stride": _strides, "kernel_size": _kernels, "padding": _paddings}
