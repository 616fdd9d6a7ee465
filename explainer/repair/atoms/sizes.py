"""The sizes of a view, a reshape, an expansion, a new tensor; the order of a permutation."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterator, Sequence

from explainer.dimensions import MODULES
from explainer.edits.evidence import Evidence
from explainer.edits.expressions import named
from explainer.repair.atoms.common import calls, integer, integers, measured, shape_of, tensors, text, wanted
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import called

_VIEWS = ("view", "reshape", "unflatten")
_NEW = ("zeros", "ones", "empty", "full", "rand", "randn", "new_zeros", "new_ones")
_MADE = (*_NEW, "expand", "repeat", "tile", "resize")
_MOST = 40
#: What it costs that a view no longer begins with the batch, and that one size is to be what is left: nothing where the
#: sizes that are written suited other data.
_SCRAMBLED, _FITS_ALL = 1.3, 1.9


def sizes(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`x.view(b, c, t)` -> `x.view(b, t, c)`: other sizes that the number of entries allows, other orders."""
    for node in calls(spot):
        name, given = called(node), _given(node)
        if name == "permute" and given:
            yield from _orders(spot, evidence, node, given)
        elif name in (*_VIEWS, *_MADE) and given and not _is_data(name, given):
            yield from itertools.islice(_others(spot, evidence, node, given, name in _VIEWS), _MOST)


def _is_data(name: str, given: Sequence[ast.expr]) -> bool:
    """Whether a new tensor of plain numbers is made: it stands for data, whose sizes are as they are."""
    return name in _NEW and all(isinstance(one, ast.Constant) for one in given)


def _given(node: ast.Call) -> Sequence[ast.expr]:
    """The sizes of a call: its arguments, the elements of the only one."""
    args = node.args
    if (
        args
        and isinstance(node.func, ast.Attribute)
        and _is_module(node.func.value)
        and called(node) in (*_VIEWS, "permute")
    ):
        args = args[1:]
    if len(args) == 1 and isinstance(args[0], (ast.Tuple, ast.List)):
        return args[0].elts
    return () if any(isinstance(one, ast.Starred) for one in args) else args


def _is_module(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in MODULES


def _orders(spot: Spot, evidence: Evidence, node: ast.Call, given: Sequence[ast.expr]) -> Iterator[Offer]:
    own = [integer(spot, one) for one in given]
    rank = len(_source(spot, evidence, node) or given)
    if None in own or rank > 6:
        return
    for order in itertools.permutations(range(rank)):
        moved = sum(a != b for a, b in zip(order, own, strict=False)) if rank == len(own) else 2
        if rank > 4 and moved > 3:
            continue
        if list(order) != own and list(order) != list(range(rank)):
            new = ", ".join(map(str, order))
            yield _offer(spot, node, given, new, "order", 0.3 + 0.2 * moved)


def _offer(spot: Spot, node: ast.Call, given: Sequence[ast.expr], new: str, filler: str, weight: float) -> Offer:
    """The call with other sizes."""
    from explainer.repair.atoms.arguments import replaced

    changes = [(given[0], new), *((one, "") for one in given[1:])]
    whole = replaced(spot, node, changes)
    head = replaced(spot, node, [(given[0], "\0"), *((one, "\1") for one in given[1:])])
    start, end = head.index("\0"), max(head.rfind("\1"), head.index("\0"))
    return Offer("sizes", spot, node, head[:start] + new + head[end + 1 :] if whole else whole, filler, weight)


def _source(spot: Spot, evidence: Evidence, node: ast.Call) -> list[int] | None:
    """The shape of what is viewed."""
    step = spot.step
    if step is not None and spot.place.node is node and step.before:
        return step.before[0][0]
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    if owner is not None and _is_module(owner):
        owner = node.args[0] if node.args else None
    return shape_of(spot, owner, evidence) if owner is not None else None


def _others(spot: Spot, evidence: Evidence, node: ast.Call, given: Sequence[ast.expr], views: bool) -> Iterator[Offer]:
    texts = [text(spot, one) for one in given]
    values = [integer(spot, one) for one in given]
    shape = _source(spot, evidence, node)
    entries = math.prod(shape) if shape and views else None
    own: Row = list(zip(texts, values, strict=True))
    rows = itertools.chain(_rows(spot, evidence, node, own, entries), _for_samples(spot, own, shape, entries))
    found = [(row, weight) for row, weight in rows if _fit([v for _, v in row], entries)]
    for row, weight in sorted(found, key=lambda one: one[1]):
        new = [name for name, _ in row]
        if new != texts:
            values_now = [value for _, value in row]
            apart = _scrambles(shape, values, values_now) if views else False
            fits_all = _FITS_ALL * (new.count("-1") > texts.count("-1") and not evidence.passed)
            yield _offer(spot, node, given, ", ".join(new), "sizes", weight + _SCRAMBLED * apart + fits_all)


def _scrambles(shape: list[int] | None, before: Sequence[int | None], after: Sequence[int | None]) -> bool:
    """Whether a view no longer begins with the first size of what it views: its entries go to other samples."""
    return bool(shape) and before[:1] == shape[:1] and after[:1] != shape[:1]  # type: ignore[index]


Row = list[tuple[str, int | None]]


def _fit(values: Sequence[int | None], entries: int | None) -> bool:
    """Whether a view of these sizes holds so many entries, as far as that is known."""
    if values.count(-1) > 1:
        return False
    if entries is None or None in values:
        return True
    total = math.prod(value for value in values if value is not None and value != -1)
    return total > 0 and (entries % total == 0 if -1 in values else total == entries)


def _rows(spot: Spot, evidence: Evidence, node: ast.Call, own: Row, entries: int | None) -> Iterator[tuple[Row, float]]:
    views, values = entries is not None or called(node) in _VIEWS, [value for _, value in own]
    fillers: Row = [(name, value) for name, value in _fillers(spot, evidence)]
    for order in itertools.permutations(own) if 1 < len(own) <= 4 else ():
        yield list(order), 0.4
    for at in range(len(own)):
        if views:
            yield [*own[:at], ("-1", -1), *own[at + 1 :]], 0.9
            yield [*own[:at], *own[at + 1 :]], 1.0
        follows = 0.2 if evidence.passed else 0.5
        yield from (([*own[:at], one, *own[at + 1 :]], follows) for one in _needed(spot, evidence, values, at, entries))
        yield from (
            ([*own[:at], one, *own[at + 1 :]], 0.7 if one[0].isidentifier() else 0.9)
            for one in fillers
            if one not in own
        )
    for at in range(len(own) + 1):
        yield [*own[:at], ("1", 1), *own[at:]], 1.2
        yield from (([*own[:at], one, *own[at:]], 0.8) for one in fillers)
        if views:
            yield [*own[:at], ("-1", -1), *own[at:]], 0.9
    if views:
        for at, other in itertools.combinations(range(len(own)), 2):
            yield [one if i not in (at, other) else ("-1", -1) for i, one in enumerate(own) if i != other], 1.1


def _for_samples(spot: Spot, own: Row, shape: list[int] | None, entries: int | None) -> Iterator[tuple[Row, float]]:
    """`view(-1, 64, 8)` -> `view(-1, 64, 10)`, where a size that is written made other samples than went in."""
    values = [value for _, value in own]
    if not shape or not entries or None in values or values[:1] != [-1] or values.count(-1) > 1:
        return
    total = math.prod(value for value in values[1:] if value is not None)
    for at, value in enumerate(values[1:], 1):
        size, rest = divmod(entries * (value or 0), shape[0] * total) if total > 0 else (0, 1)
        if not rest and size != value and size > 0:
            for form in dict.fromkeys([*itertools.islice(named(size, spot.scope, own[at][0]), 2), str(size)]):
                yield [*own[:at], (form, size), *own[at + 1 :]], 0.2


def _needed(
    spot: Spot, evidence: Evidence, values: Sequence[int | None], at: int, entries: int | None
) -> Iterator[tuple[str, int]]:
    """Expressions for the one value that the other sizes leave for a place."""
    rest = [value for index, value in enumerate(values) if index != at]
    if entries is None or None in rest or -1 in rest:
        return
    total = math.prod(value for value in rest if value is not None)
    if total > 0 and entries % total == 0 and entries // total != values[at]:
        for form in itertools.islice(named(entries // total, spot.scope, ""), 4):
            yield form, entries // total
        for form in itertools.islice(measured(spot, entries // total), 4) if evidence.passed else ():
            yield form, entries // total
        for one, a in list(integers(spot).items())[:20]:
            for other, b in list(integers(spot).items())[:20]:
                if one != other and b > 1 and a == b * (entries // total):
                    yield f"{one} // {other}", entries // total


def _fillers(spot: Spot, evidence: Evidence) -> list[tuple[str, int]]:
    """Sizes that may stand there: names in scope, and the sizes of what is viewed."""
    found = list(integers(spot).items())[:40]
    sizes = wanted(evidence)
    for name, shape in tensors(spot).items():
        found += [(f"{name}.size({at})", size) for at, size in enumerate(shape) if size in sizes and "." not in name]
    return found[:60]
