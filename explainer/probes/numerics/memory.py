"""One expression that asks for absurdly much memory: a broadcast to (N, N), a one-hot of raw ids."""

from __future__ import annotations

import ast
import itertools
import re
from math import prod
from typing import Any

from explainer.facts import OriginFact, SpanFact, TensorFact
from explainer.patterns import Pattern
from explainer.probes import probe
from explainer.probes.call import call_node, function_name, operands
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.tensor import fact_of
from explainer.probes.values import is_tensor, read, readable
from explainer.source import called

_ASKED = Pattern(r"tried to allocate (\d+) bytes|Tried to allocate ([\d.]+) ([KMGTP]i?B)")
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
    if failing is None:
        return None
    for (_, left), (_, right) in itertools.combinations(_shapes(scene), 2):
        shapes = left, right
        result = broadcast_shape(*shapes)
        if result is not None and prod(result) > 8 * max(prod(shapes[0]), prod(shapes[1]), 1):
            return OriginFact("broadcast", function_name(call_node(failing.node)), shapes, result, (), failing.span)
    return None


def _shapes(scene: Scene) -> list[tuple[str, tuple[int, ...]]]:
    """The tensor operands in words with their shapes; of `a[:, None]` and `a.unsqueeze(1)` the view's."""
    frame = scene.user_frame
    found = []
    for one in operands(scene):
        value = one.value if is_tensor(one.value) or frame is None else viewed(one.node, frame.frame)
        if is_tensor(value):
            found.append((one.name, tuple(value.shape)))
    return found


def viewed(node: ast.AST | None, frame: Any) -> Any:
    """What an indexed or unsqueezed tensor, or a sum of two, would be on the meta device; None where not plain.

    No data is touched.
    """
    import torch

    if isinstance(node, ast.BinOp):
        sides = [
            value if is_tensor(value := read(one, frame)) else viewed(one, frame) for one in (node.left, node.right)
        ]
        shape = broadcast_shape(*(tuple(one.shape) for one in sides)) if all(map(is_tensor, sides)) else None
        return torch.empty(shape, device="meta") if shape is not None and not isinstance(node.op, ast.MatMult) else None
    method = isinstance(node, ast.Call) and called(node) in ("unsqueeze", "transpose", "permute", "view", "reshape")
    if isinstance(node, ast.Subscript):
        whole = ast.Subscript(ast.Name("x", ast.Load()), node.slice, ast.Load())
        base, text = read(node.value, frame), ast.unparse(whole)[2:-1]
    elif method and isinstance(node.func, ast.Attribute):  # type: ignore[union-attr]
        base, text = read(node.func.value, frame), ", ".join(map(ast.unparse, node.args))  # type: ignore[union-attr]
    else:
        return None
    if not is_tensor(base) or not re.fullmatch(r"[-\d\s,:.()]*(?:None[-\d\s,:.()]*)*", text):
        return None
    plain = torch.empty(base.shape, device="meta")
    try:  # numbers, None and colons alone
        return eval(f"x.{called(node)}({text})" if method else f"x[{text}]", {"x": plain})  # type: ignore[arg-type]
    except Exception:
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
    shapes = _shapes(scene)
    for one in tensors:
        shape = tuple(one.value.shape)
        if shape[-1:] == (1,) and any(name != one.name and other == shape[:-1] for name, other in shapes):
            scene.objects[one.name] = one.value
            return _fact(scene, one)
    return None


@probe
def huge_call(scene: Scene) -> SpanFact | None:
    """The one expression that asked for too much memory: 64 GiB at once at least, of the CPU's 16.

    `detail`: its `operator`; `given`, its tensors in words; `elements`, how many float32 values that is; `pair`, where
    two operands make it by pairing rows, the counts of both; `via`, the functions that led there.
    """
    failing, asked = scene.failing, asked_bytes(scene)
    least = 16 if "CPU" in scene.crash.message else 64
    if failing is None or asked is None or asked < least * 1024**3:
        return None
    node = call_node(failing.node)
    tensors = _shapes(scene)
    given = ", ".join(f"{name} {list(shape)}" for name, shape in tensors[:3])
    sizes = [max(shape, default=1) for _, shape in tensors[:2]]
    pair = f"{sizes[0]} * {sizes[1]}" if len(sizes) == 2 and asked % (sizes[0] * sizes[1]) == 0 else ""
    names = [frame.frame.f_code.co_name for frame in scene.live.user] if scene.live is not None else []
    via = tuple(name for name in names if not name.startswith("<"))[-3:]
    about = {"operator": function_name(node), "given": given, "elements": asked // 4, "pair": pair, "via": via}
    return span_fact(failing.source, node, **about)


@probe
def repeated_view(scene: Scene) -> SpanFact | None:
    """A `.repeat(...)` in the failing call that repeats dimensions of size 1 only: `text` of the `expand` that shares.

    Also `repeat(n, 1, 1)` of a tensor with fewer dimensions, whose new ones come first.
    """
    failing = scene.failing
    node = call_node(failing.node) if failing is not None else None
    if failing is None or not isinstance(node, ast.Call) or called(node) != "repeat" or node.keywords:
        return None
    values = [one.value for one in operands(scene)]
    tensor, counts = values[0], values[1:]
    if len(counts) == 1 and isinstance(counts[0], (tuple, list)):
        return None
    if not is_tensor(tensor) or len(counts) != len(node.args) or not all(type(one) is int for one in counts):
        return None
    shape = (0,) * (len(counts) - tensor.dim()) + tuple(tensor.shape)
    if any(size not in (0, 1) and count != 1 for size, count in zip(shape, counts, strict=True)):
        return None
    texts = [failing.source.text(one) if size in (0, 1) else "-1" for size, one in zip(shape, node.args, strict=True)]
    owner = failing.source.text(node.func.value)  # type: ignore[attr-defined]
    return SpanFact(failing.source.span(node), f"{owner}.expand({', '.join(texts)})")


@probe
def largest_index(scene: Scene, of: Any = None) -> int | None:
    """The largest value of an integer tensor on the CPU of at most 100 million elements."""
    tensor = scene.objects.get(of.name) if of is not None else None
    if not readable(tensor, 10**8) or tensor.is_floating_point():
        return None
    return int(tensor.max())


def _fact(scene: Scene, operand: Any) -> Any:
    span = scene.failing.source.span(operand.node) if scene.failing and operand.node is not None else None
    return fact_of(operand.name, operand.value, span)
