"""Between which numbers the values of an expression lie, and counts made of values that lie far from zero."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Iterator
from types import FrameType
from typing import Any

from explainer.edits.place import place_of
from explainer.facts import SpanFact
from explainer.frozen import frozen
from explainer.probes import probe
from explainer.probes.bindings import Bound, binding
from explainer.probes.call import call_node, function_name
from explainer.probes.numerics.memory import asked_bytes
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import MISSING, picked, read, readable
from explainer.source import called

#: So many elements are looked through.
_LARGEST = 10**8
#: So few values may lie near each other by chance.
_FEW = 3
#: How many times farther from zero than from each other values lie that are counted from an offset.
_MANY = 10
#: So many numbers may lie between the least and the greatest for each value.
_SPREAD = 4
_MONOTONE = {
    ast.FloorDiv: operator.floordiv, ast.Div: operator.truediv, ast.Add: operator.add, ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}  # fmt: skip
_WHOLE = ("long", "int", "floor", "trunc", "round")
_SAME = ("to", "flatten", "view", "reshape", "squeeze", "unsqueeze", "contiguous", "cpu", "double", "float", "ravel")
_INDEXED = ("bincount", "one_hot")
_MAXIMA = ("max", "amax")


@frozen
class Extent:
    """The least and the greatest of `of` values."""

    low: float
    high: float
    of: int

    @property
    def count(self) -> int:
        """How many whole numbers lie between them, both counted."""
        return int(self.high) - int(self.low) + 1

    @property
    def far(self) -> bool:
        """Whether the values lie many times farther from zero than from each other."""
        return self.of >= _FEW and self.high > self.low and self.low >= _MANY * self.count

    @property
    def dense(self) -> bool:
        """Whether there are about as many values as numbers between them: few ids, or times in small units, are not."""
        return self.of * _SPREAD >= self.count


def extent(node: ast.AST, frame: FrameType) -> Extent | None:
    """Between what the values of a tensor on the CPU lie, or of one with a number added, taken off or divided by."""
    value = read(node, frame)
    value = picked(node, frame) if value is MISSING else value
    if value is not MISSING:
        return _of_tensor(value)
    if isinstance(node, ast.BinOp):
        return _of_operation(node, frame)
    inner = _converted(node)
    found = extent(inner, frame) if inner is not None else None
    whole = found is not None and isinstance(node, ast.Call) and called(node) in _WHOLE
    return Extent(int(found.low), int(found.high), found.of) if found is not None and whole else found


def _of_tensor(value: Any) -> Extent | None:
    if not readable(value, _LARGEST) or not type(value).__module__.startswith("torch"):
        return None
    try:
        low, high = (one.item() for one in value.detach().aminmax())
    except (RuntimeError, NotImplementedError):  # complex, sparse, and half where torch is old
        return None
    return Extent(low, high, value.numel()) if math.isfinite(low) and math.isfinite(high) else None


def _of_operation(node: ast.BinOp, frame: FrameType) -> Extent | None:
    run, number, inner = _MONOTONE.get(type(node.op)), read(node.right, frame), extent(node.left, frame)
    if run is None or inner is None or type(number) not in (int, float):
        return None
    if number <= 0 and not isinstance(node.op, (ast.Add, ast.Sub)):
        return None
    return Extent(run(inner.low, number), run(inner.high, number), inner.of)


def _converted(node: ast.AST) -> ast.expr | None:
    """What is converted or shown in another shape: `x` of `x.long()` and `torch.floor(x)`."""
    if not isinstance(node, ast.Call) or called(node) not in (*_WHOLE, *_SAME):
        return None
    owner = getattr(node.func, "value", None)
    if getattr(owner, "id", "") == "torch":
        return node.args[0] if node.args else None
    return owner


@probe
def counted_far(scene: Scene) -> SpanFact | None:
    """Values that a size is made of and that lie far from zero, near each other: ids from 10**9 on, times since 1970.

    They are what `bincount` or `one_hot` is given, or what a size in the failing call is the maximum of. `detail`: how
    many numbers the size counts (`size`), how many lie between the least and the greatest value (`count`), the call's
    `function`, and `argument`, whether the values are given to the failing call itself.
    """
    failing, frame, asked = scene.failing, scene.user_frame, asked_bytes(scene)
    if failing is None or frame is None or asked is None:
        return None
    node = call_node(failing.node)
    for one, argument in _sized_by(scene, node):
        found = extent(one, frame.frame)
        if found is not None and found.far and found.dense and _explains(asked, int(found.high) + 1):
            about = {"size": int(found.high) + 1, "count": found.count, "function": function_name(node)}
            return span_fact(failing.source, one, **about, argument=argument)
    return None


def _explains(asked: int, size: int) -> bool:
    """Whether a request is for a whole number of bytes for each of the numbers, or nearly so."""
    times = asked / size
    return times > 0.99 and abs(times - round(times)) <= 0.01 * times


def _sized_by(scene: Scene, node: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """The expressions whose greatest value decides a size, and whether each is an operand of the failing call."""
    if not isinstance(node, ast.Call):
        return
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    if called(node) in _INDEXED:
        yield from ((one, True) for one in [*node.args[:1], *([owner] if owner is not None else [])])
    for part in [*node.args, *(word.value for word in node.keywords)]:
        yield from ((one, False) for one in _maxima(part))
        for name in (one for one in ast.walk(part) if isinstance(one, (ast.Name, ast.Attribute))):
            held = binding(scene, name, _number(scene))
            if held is not None and _of_this_function(held, node):
                yield from ((one, False) for one in _maxima(held.node))


def _of_this_function(held: Bound, node: ast.Call) -> bool:
    return held.source.scope_at(held.statement.lineno) is held.source.scope_at(node.lineno)


def _maxima(node: ast.AST) -> Iterator[ast.expr]:
    """`x` of each `x.max()` and `torch.max(x)` in an expression."""
    for one in ast.walk(node):
        if isinstance(one, ast.Call) and called(one) in _MAXIMA and len(one.args) <= 1 and not one.keywords:
            owner = getattr(one.func, "value", None)
            inner = one.args[0] if one.args else owner
            if inner is not None:
                yield inner


def _number(scene: Scene) -> int:
    return len(scene.live.user) - 1 if scene.live is not None else 0


@probe
def offset_source(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """What is divided where far values are made: `stamps` of `bins = stamps // width`, itself far from zero."""
    made = _made(scene, of)
    if made is None or made.frame is None or scene.live is None:
        return None
    inner = _undivided(made.node)
    found = extent(inner, scene.live.user[made.frame].frame) if inner is not made.node else None
    return span_fact(made.source, inner) if found is not None and found.far else None


@probe
def offset_bound(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """The statement that gave far values their name; `detail.name` is the name. No loop, and no other's function."""
    made = _made(scene, of)
    statement = made.statement if made is not None and not made.looped else None
    if made is None or not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    if made.part is not None and isinstance(target, ast.Tuple):
        target = target.elts[made.part]
    elif statement.value is not made.node:
        return None
    plain = isinstance(target, (ast.Name, ast.Attribute))
    return span_fact(made.source, statement, name=made.source.text(target)) if plain else None


def _made(scene: Scene, of: SpanFact | None) -> Bound | None:
    """The expression that made the values of a place: that which bound its name, or the place's own."""
    if of is None:
        return None
    place = place_of(scene.source, of)
    if isinstance(place.node, (ast.Name, ast.Attribute)):
        return binding(scene, place.node, _number(scene))
    return Bound(place.source, place.node, place.statement().node, _number(scene))  # type: ignore[arg-type]


def _undivided(node: ast.expr) -> ast.expr:
    """The innermost expression below divisions and conversions: `t` of `(t / 0.1).long()`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.FloorDiv, ast.Div)):
        return _undivided(node.left)
    inner = _converted(node)
    return _undivided(inner) if inner is not None else node
