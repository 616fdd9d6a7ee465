"""Subscripts: their bounds, which dimension they cut, how many parts they have."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from explainer.edits.evidence import Evidence
from explainer.edits.place import as_primary
from explainer.repair.atoms.common import (
    expressions,
    integers,
    number,
    shape_of,
    tensors,
    text,
    wanted,
)
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import called, holds, loaded, walked

#: Up to here one more or less reaches the first and the last.
_NEAR = 2
#: How many names of sizes a tensor may be cropped to.
_NAMED = 2
#: What it costs that a bound is to stand on the other side: `x[n:]` -> `x[:n]`.
_OTHER_SIDE = 0.45


def slice_(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`x[:, :n]` -> `x[:, :n + 1]`, `x[:, :, 0]` -> `x[:, 0]`: bounds, dimensions and parts of a subscript."""
    for node in expressions(spot):
        if isinstance(node, ast.Subscript) and not _textual(node.slice):
            parts = _parts(spot, node)
            for new, weight, why in _changed(spot, evidence, node, parts):
                if new != parts and new:
                    yield Offer("slice", spot, node, f"{text(spot, node.value)}[{', '.join(new)}]", why, weight)
            if _editable(node, evidence, spot):
                yield Offer("slice", spot, node, text(spot, node.value), "without", 1.2)


#: What may be cut of a tensor, by how many dimensions it must have.
_CUTS = {
    1: ("[:-1]", "[1:]", "[-1]", "[0]"),
    2: ("[:, -1]", "[:, :-1]", "[:, 1:]", "[:, 0]"),
    3: ("[..., 0]", "[..., -1]"),
}
#: What it is worth that one entry less makes one of the sizes that meet of the other.
_MEETS = -0.8


def cut(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`values` -> `values[:-1]`: one entry, or all but one, of a dimension of a tensor."""
    if spot.role in ("built", "given"):
        return
    for node in expressions(spot):
        if not isinstance(node, (ast.Name, ast.Attribute, ast.Call)):
            continue
        shape = (spot.shape if node is spot.place.node else None) or shape_of(spot, node, evidence) or []
        parts = {
            part: 0.1 * at
            for at, part in enumerate(p for rank, row in _CUTS.items() if rank <= len(shape) for p in row)
        }
        for part, weight in {**parts, **dict.fromkeys(_meeting(shape, evidence), _MEETS)}.items():
            yield Offer("cut", spot, node, f"{as_primary(spot.place.at(node))}{part}", part, weight)


def _meeting(shape: list[int], evidence: Evidence) -> Iterator[str]:
    """What leaves one entry of a dimension out, where two sizes that meet at the failing call are one apart."""
    said = set(evidence.said)
    for at, size in enumerate(shape):
        if {size, size - 1} <= said and size > 1:
            yield from (f"[{':, ' * at}{bound}]" for bound in (":-1", "1:"))


def crop(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`self(ids)` -> `self(ids[:, -block:])`: who calls what failed gives it no more than a size in question holds."""
    if spot.role != "caller":  # cut where it failed, data would be lost
        return
    for node in expressions(spot):
        if isinstance(node, (ast.Name, ast.Attribute)):
            ends = ("-{}:",) if _grows(spot, node) else ("-{}:", ":{}")
            for at, part in enumerate(_crops(spot, evidence, shape_of(spot, node, evidence) or [], ends)):
                yield Offer("crop", spot, node, f"{text(spot, node)}{part}", part, 0.1 * at)


def tail(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`conv(x)` -> `conv(x)[..., : x.size(-1)]`: without the steps by which padding makes it longer than its input."""
    step, node = spot.step, spot.place.node
    if step is None or not isinstance(node, ast.Call) or step.function != "conv1d" or not step.before:
        return
    new, old = step.shape[-1:], step.before[0][0][-1:]
    if spot.role != "slice" or not old < new or not {*old, *new} <= set(evidence.said) or len(node.args) != 1:
        return
    given = node.args[0]
    turned = isinstance(given, ast.Call) and text(spot, given).endswith(".transpose(1, 2)")
    size = f"{text(spot, given.func.value)}.size(1)" if turned else f"{text(spot, given)}.size(-1)"  # type: ignore[attr-defined]
    yield Offer("tail", spot, node, f"{as_primary(spot.place)}[..., : {size}]", "input")


def _grows(spot: Spot, node: ast.expr) -> bool:
    """Whether something is added behind a tensor where it stands, so that its last entries are the new ones."""
    source, name = spot.place.source, text(spot, node)
    function = source.function_at(node.lineno) or source.tree
    kept = [one for one in walked(function) if isinstance(one, ast.Assign)] if function is not None else []
    own = [one.value for one in kept if source.text(one.targets[0]) == name and isinstance(one.value, ast.Call)]
    return any(called(one) in ("cat", "concat", "hstack") and name in loaded(one) for one in own)


def _crops(spot: Spot, evidence: Evidence, shape: list[int], ends: Sequence[str]) -> list[str]:
    """The last, or first, entries of a dimension that is longer than a size in question which has a name."""
    sizes = wanted(evidence)
    named = [name for name, value in integers(spot).items() if value in sizes and value > 1]
    return [f"[{':, ' * at}{end.format(name)}]" for at, size in enumerate(shape[:2]) for name in named[:_NAMED]
            if integers(spot)[name] < size for end in ends]  # fmt: skip


def leading(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`loss(scores, labels)` -> `loss(scores, labels[:scores.size(0)])`, where full batches went well.

    `labels` were made once, for as many samples as a full batch has.
    """
    if spot.role != "crash" or not evidence.passed:
        return
    named = [one for one in expressions(spot) if isinstance(one, (ast.Name, ast.Attribute))]
    shapes = [(one, shape_of(spot, one, evidence)) for one in named]
    new = _given_anew(spot)
    for node, shape in shapes:
        if shape and ast.unparse(node) not in new:
            for other, size in shapes:
                longer = [at for at, (a, b) in enumerate(zip(shape, size or (), strict=False)) if a > b > 0]
                for at in longer if other is not node and ast.unparse(other) in new else ():
                    part = f"[{':, ' * at}:{text(spot, other)}.size({at})]"
                    yield Offer("leading", spot, node, text(spot, node) + part, "batch", 0.1 * at)


def indexed(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`f(x[:, ids], y[:, ids], state)` -> `state[:, ids]`: what a call is given beside others that are indexed alike.

    Of a tuple or list of tensors each one is.
    """
    for node in expressions(spot):
        given = node.args if isinstance(node, ast.Call) else []
        picks = [text(spot, one.slice) for one in given if isinstance(one, ast.Subscript) and loaded(one.slice)]
        for pick in [one for one in dict.fromkeys(picks) if picks.count(one) > 1]:
            for one in given:
                own = text(spot, one) if isinstance(one, (ast.Name, ast.Attribute)) else ""
                if isinstance(spot.scope.get(own), list):
                    yield Offer("indexed", spot, one, f"{own}[{pick}]", "beside")
                elif f"len({own})" in spot.scope:
                    yield Offer("indexed", spot, one, f"tuple(one[{pick}] for one in {own})", "beside")
        if isinstance(node, ast.Name):
            cuts = _picks_together(spot, node)
            yield from (Offer("indexed", spot, node, f"{node.id}[{cut}]", "together") for cut in cuts)


def _picks_together(spot: Spot, node: ast.Name) -> list[str]:
    """`: n` for `tags`, behind `tokens, tags = note` and `tokens[: n]`: how what came along with a name is cut.

    None where the name is itself cut somewhere.
    """
    scope = list(walked(spot.place.source.scope_at(spot.place.line)))
    rows = [[getattr(part, "id", "") for part in one.elts] for one in scope
            if isinstance(one, ast.Tuple) and isinstance(one.ctx, ast.Store)]  # fmt: skip
    beside = {name for row in rows if node.id in row for name in row if name}
    cuts = [one for one in scope if isinstance(one, ast.Subscript) and getattr(one.value, "id", "") in beside]
    if any(getattr(one.value, "id", "") == node.id for one in cuts):
        return []
    picks = [one.slice for one in cuts if isinstance(one.slice, ast.Slice) or loaded(one.slice)]
    return list(dict.fromkeys(text(spot, one) for one in picks))


def _given_anew(spot: Spot) -> set[str]:
    """What the innermost loop around a place binds, else its function, arguments counted."""
    source, line = spot.place.source, spot.place.line
    scope = source.scope_at(line)
    nodes = list(walked(scope)) if scope is not None else []
    loops = [one for one in nodes if isinstance(one, (ast.For, ast.While)) and holds(one, line)]
    around = list(walked(loops[-1])) if loops else nodes
    bound = (one for one in around if isinstance(getattr(one, "ctx", None), ast.Store))
    given = (one.arg for one in around if isinstance(one, ast.arg))
    return {*(ast.unparse(one) for one in bound), *given}


def _textual(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _editable(node: ast.Subscript, evidence: Evidence, spot: Spot) -> bool:
    return shape_of(spot, node.value, evidence) is not None or isinstance(node.slice, (ast.Tuple, ast.Slice))


def _parts(spot: Spot, node: ast.Subscript) -> list[str]:
    elements = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return [text(spot, one) for one in elements]


Change = tuple[list[str], float, str]


def _changed(spot: Spot, evidence: Evidence, node: ast.Subscript, parts: list[str]) -> Iterator[Change]:
    count = len(parts)
    for at in range(count):
        rest = parts[:at] + parts[at + 1 :]
        if count > 1:
            yield rest, 0.9, "part"
        for to in range(count):
            if to != at and parts[to] != parts[at]:
                yield [*rest[:to], parts[at], *rest[to:]], 0.9, "moved"
        for new, weight in _of_part(spot, evidence, parts[at]):
            yield [*parts[:at], new, *parts[at + 1 :]], weight, "bound"
    if not _of_shape(node) and (count > 1 or isinstance(node.slice, ast.Slice) or _is_tensor(spot, evidence, node)):
        yield [":", *parts], 0.7, "part"
        if isinstance(node.slice, (ast.Slice, ast.Tuple)) and parts[-1] != ":":
            yield [*parts, parts[-1]], 0.9, "again"
        yield [*parts, "None"], 1.0, "part"
        yield ["None", *parts], 1.4, "part"
        yield [*parts[:1], ":", *parts[1:]], 1.0, "part"
        yield ["...", *parts], 1.0, "part"
        for at in range(1, count + 1):
            yield [*parts[:at], "None", *parts[at:]], 0.9, "part"


def _of_shape(node: ast.Subscript) -> bool:
    return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"


def _is_tensor(spot: Spot, evidence: Evidence, node: ast.Subscript) -> bool:
    return shape_of(spot, node.value, evidence) is not None


def _of_part(spot: Spot, evidence: Evidence, part: str) -> Iterator[tuple[str, float]]:
    """What else may stand for one part of a subscript."""
    if part == "None":
        yield ":", 1.0
        return
    if part == ":":
        yield "0", 1.8
        yield ":-1", 1.0
        yield "1:", 1.0
        yield from ((f":{text}", 1.3) for text in _sizes(spot, evidence))
        return
    low, colon, high = _bounds(part)
    if not colon:
        yield from _of_index(part)
        return
    yield ":", 0.9
    yield from ((one, 0.8) for one in _one_of(low, high))
    yield from ((_joined(low, new), weight) for new, weight in _of_bound(spot, evidence, high))
    yield from ((_joined(new, high), weight) for new, weight in _of_bound(spot, evidence, low) if low)
    if low and high:
        yield _joined("", high), 1.0
        yield _joined(low, ""), 1.0
    elif low:
        yield _joined("", low), _OTHER_SIDE
        yield _joined(low, "-1"), 1.2
    else:
        yield _joined(high, ""), _OTHER_SIDE


def _bounds(part: str) -> tuple[str, str, str]:
    try:
        node = ast.parse(f"x[{part}]", mode="eval").body.slice  # type: ignore[attr-defined]
    except SyntaxError:
        return part, "", ""
    if not isinstance(node, ast.Slice) or node.step is not None:
        return part, "", ""
    low, high = (ast.unparse(one) if one is not None else "" for one in (node.lower, node.upper))
    return low, ":", high


def _one_of(low: str, high: str) -> Iterator[str]:
    """The one entry that a slice of one takes: `x[:1]` -> `x[0]`, `x[-1:]` -> `x[-1]`."""
    if not low and high == "1":
        yield "0"
    elif low == "-1" and not high:
        yield "-1"
    elif low.isdigit() and high == str(int(low) + 1):
        yield low


def _joined(low: str, high: str) -> str:
    return f"{low}:{high}"


def _of_index(part: str) -> Iterator[tuple[str, float]]:
    try:
        value = number(ast.parse(part, mode="eval").body)
    except SyntaxError:
        return
    if value is not None:
        yield from ((str(one), 1.0) for one in (value + 1, value - 1, -1, 0) if one != value)
        yield f"{value}:{value + 1}" if value != -1 else "-1:", 1.0
        yield ":", 1.0
    else:
        yield f"{part} + 1", 1.4
        yield f"{part} - 1", 1.2


def _of_bound(spot: Spot, evidence: Evidence, bound: str) -> Iterator[tuple[str, float]]:
    if bound:
        value = number(ast.parse(bound, mode="eval").body)
        if value is not None:
            yield from ((str(one), 0.6) for one in (value + 1, value - 1))
            yield str(-value), 1.2
            yield from ((one, 0.9) for one in ("1", "-1") if abs(value) > _NEAR)
        else:
            yield f"{bound} + 1", 0.5
            yield f"{bound} - 1", 0.6
            yield from ((one, 1.0) for one in _inner(bound))
    yield from ((one, 1.0) for one in _sizes(spot, evidence) if one != bound)


def _inner(bound: str) -> Iterator[str]:
    """The parts of a bound that is a sum: `n + 1` -> `n`; `i + block` -> `i + 1 + block`."""
    node = ast.parse(bound, mode="eval").body
    if isinstance(node, ast.BinOp):
        yield ast.unparse(node.left)
        yield ast.unparse(node.right)


def _sizes(spot: Spot, evidence: Evidence) -> list[str]:
    """Names and sizes of tensors in scope that are one of the sizes in question."""
    sizes = wanted(evidence)
    found = [name for name, value in integers(spot).items() if value in sizes]
    for name, shape in tensors(spot).items():
        found += [f"{name}.size({at})" for at, size in enumerate(shape) if size in sizes and size > 1 and at]
    return found[:8]
