"""Lengths of sequences that layers have made shorter since, and samples that are cut or filled up to one length."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Collection, Iterator

from explainer.edits.evidence import Evidence
from explainer.edits.generators.joined import functional
from explainer.edits.generators.slices import Operand, operands, ragged
from explainer.edits.place import as_primary
from explainer.repair.atoms.common import (
    calls,
    expressions,
    integer,
    is_value,
    parts,
    returned,
    shape_of,
    tensors,
    text,
    whole_number,
)
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot, spots
from explainer.source import Function, called, walked

#: Of how many steps layers leave one.
_FACTORS = range(2, 17)
#: What makes something longer, and is given how much it is to be.
_FILLING = ("pad", "cat", "concat", "concatenate", "new_zeros", "zeros", "full", "new_full", "ones", "repeat")
#: What makes a tensor of a list.
_MAKING = ("tensor", "as_tensor", "LongTensor", "FloatTensor")


def shortened(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`return x, lengths` -> `return x, (lengths + 3) // 4`: the greatest length is then that of what they count.

    Where a function hands lengths back beside what it has made shorter, no other place is to blame.
    """
    for lengths, factor, up in _factors(evidence):
        own = list(_lengths(spot, lengths, evidence))
        every = [(one, node) for one in spots(evidence) for node in _lengths(one, lengths, evidence)] if own else []
        beside = {id(node) for one, node in every if _beside(one, node, lengths, evidence)}
        for node in own:
            whole = as_primary(spot.place.at(node))
            new = f"({whole} + {factor - 1}) // {factor}" if up else f"{whole} // {factor}"
            if id(node) in beside or (not beside and (spot.role == "crash" or _computes(spot))):
                yield Offer("shortened", spot, node, new, "up" if up else "down")


def _lengths(spot: Spot, lengths: Operand, evidence: Evidence) -> Iterator[ast.expr]:
    """The names at a place that have the shape of the lengths."""
    for node in expressions(spot):
        plain = isinstance(node, (ast.Name, ast.Attribute)) and is_value(spot, node)
        if plain and shape_of(spot, node, evidence) == lengths.shape:
            yield node


def _computes(spot: Spot) -> bool:
    """Whether a place works lengths out: as they were first made, they count what came in."""
    return any(isinstance(one, ast.BinOp) for one in walked(spot.place.statement().node))


def _beside(spot: Spot, node: ast.AST, lengths: Operand, evidence: Evidence) -> bool:
    """Whether lengths are handed back beside something of the size that they exceed."""
    source = spot.place.source
    row = source.parent_of(node)
    if not isinstance(row, ast.Tuple) or not isinstance(source.parent_of(row), ast.Return):
        return False
    sizes = {size for one in operands(evidence) if one.shape != lengths.shape for size in one.shape}
    shapes = [shape_of(spot, one, evidence) or [] for one in row.elts if one is not node]
    return any(len(shape) > 1 and sizes & set(evidence.said) & set(shape) for shape in shapes)


def _factors(evidence: Evidence) -> Iterator[tuple[Operand, int, bool]]:
    """The failing call's whole numbers, that are so many times a size of another operand."""
    every, crash = operands(evidence) if "length" in evidence.message.lower() else [], evidence.crash
    for lengths, extent in zip(every, crash.extents if crash is not None else (), strict=False):
        others = {size for one in every if one is not lengths for size in one.shape}
        sizes = others & set(evidence.said) or others
        if extent is None or len(lengths.shape) != 1 or extent[1] in sizes or "int" not in lengths.dtype:
            continue
        for factor in _FACTORS:
            for up, size in ((True, -(-extent[1] // factor)), (False, extent[1] // factor)):
                if size in sizes and size > 1 and (up or extent[1] % factor):
                    yield lengths, factor, up


def extended(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`ids.eq(0)` -> `pad(ids.eq(0), (0, image.size(1)))`: a mask, for what is put beside what it was made of.

    Where it is made, or handed over: `layer(x, mask)`. The size by which it is too short is one of a tensor in scope,
    or of what was joined to its sequence.
    """
    said = set(evidence.said)
    for node, own in _masks(spot, evidence):
        missing = {one - own for one in said if one > own} if own in said else set()
        beside = [(name, at) for name, shape in tensors(spot).items() for at, size in enumerate(shape)
                  if size in missing and at and name.isidentifier()]  # fmt: skip
        for name, at in beside:
            more = f"({name}.size({at}), 0)" if _leads(spot, name) else f"(0, {name}.size({at}))"
            new = f"torch.nn.functional.pad({text(spot, node)}, {more})"
            yield Offer("extended", spot, node, new, "beside", 0.0)
        for size, leads in _joined(own, missing, evidence) if not beside else ():
            more = f"({size}, 0)" if leads else f"(0, {size})"
            new = f"{functional(spot.place)}.pad({text(spot, node)}, {more}{_kept(spot)})"
            yield Offer("extended", spot, node, new, "joined", 0.0)


def _joined(own: int, missing: Collection[int], evidence: Evidence) -> Iterator[tuple[int, bool]]:
    """How many entries were joined to as many as a mask has, and whether they were put in front."""
    for step in evidence.steps if missing else ():
        shapes = [shape for shape, _ in step.before]
        if step.function not in ("cat", "concat") or len(shapes) != 2 or len(shapes[0]) != len(shapes[1]):
            continue
        for first, last in zip(*shapes, strict=True):
            if {first, last} == {own, 1} and 1 in missing:  # one token; how many there are else the program knows
                yield 1, last == own
                return


def _kept(spot: Spot) -> str:
    """What a mask holds for entries that count, where it says which do: what compares says which."""
    step = spot.step
    return ", value=True" if step is not None and step.function in ("lt", "le", "ne", "__lt__", "__ne__") else ""


def _masks(spot: Spot, evidence: Evidence) -> Iterator[tuple[ast.expr, int]]:
    """The masks of samples at a place, with their lengths: what made them, and what a call above is given."""
    step, node = spot.step, spot.place.node
    makes = spot.role in ("slice", "returned", "caller") and isinstance(node, ast.expr)
    if step is not None and makes and step.dtype == "bool" and len(step.shape) == 2:
        yield node, step.shape[-1]  # type: ignore[misc]
    masks = [one.shape for one in operands(evidence) if len(one.shape) == 2]
    call = node if spot.role == "caller" and isinstance(node, ast.Call) else None
    for given in [*call.args, *(word.value for word in call.keywords)] if call is not None else ():
        shape = tensors(spot).get(text(spot, given)) if isinstance(given, ast.Name) else None
        if shape in masks and shape is not None:
            yield given, shape[-1]


def _leads(spot: Spot, name: str) -> bool:
    """Whether what a name stands for is put in front, where the function of a place joins it: `cat([name, x])`."""
    function = spot.place.source.function_at(spot.place.line)
    nodes = walked(function) if function is not None else ()
    given = [one.args[0] for one in nodes if isinstance(one, ast.Call) and called(one) == "cat" and one.args]
    firsts = [one.elts[0] for one in given if isinstance(one, (ast.List, ast.Tuple)) and one.elts]
    return any(isinstance(one, ast.Name) and one.id == name for one in firsts)


def trimmed(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`return x` -> `return x[:self.n]` in a function that fills `x` up to `self.n`, and leaves a longer one."""
    function = spot.place.source.function_at(spot.place.line)
    if not returned(spot) or function is None or not ragged(evidence):
        return
    for filled, full, dimension in _missing(spot, function):
        before = {0: "", 1: ":, ", 2: ":, :, ", -1: "..., "}.get(dimension)
        reads = [one for one in expressions(spot) if text(spot, one) == filled]
        if before is not None and len(reads) == 1:
            yield Offer("trimmed", spot, reads[0], f"{filled}[{before}:{full}]", "wanted", 0.0)


def _missing(spot: Spot, function: Function) -> Iterator[tuple[str, str, int]]:
    """What a function fills up, to which length, in which dimension: `n - len(x)` is missing."""
    nodes = list(walked(function))
    if not any((isinstance(one, ast.Call) and called(one) in _FILLING) or _repeated(one) for one in nodes):
        return
    for one in nodes:
        if (
            isinstance(one, ast.BinOp)
            and isinstance(one.op, ast.Sub)
            and isinstance(one.left, (ast.Name, ast.Attribute, ast.Constant))
        ):
            measured = _measured(one.right)
            if measured is not None:
                yield text(spot, measured[0]), text(spot, one.left), measured[1]


def _repeated(node: ast.AST) -> bool:
    """Whether a list is repeated: `[0] * missing`."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List)


def _measured(node: ast.expr) -> tuple[ast.expr, int] | None:
    """What an expression measures, and in which dimension: `len(x)`, `x.size(1)`, `x.shape[-1]`."""
    if isinstance(node, ast.Call) and called(node) == "len" and len(node.args) == 1:
        return node.args[0], 0
    shape = isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    if shape and isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
        owner, dimension = node.value.value, whole_number(node.slice)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("size", "numel"):
        owner, dimension = node.func.value, 0 if node.func.attr == "numel" else whole_number(node.args[0])
    else:
        return None
    return (owner, dimension) if dimension is not None else None


def lengthened(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`return x` -> `return F.pad(x, (0, n - x.size(-1)))` where a function cuts `x` to `n`, and no more.

    What a tensor is made of is filled up as a list: `torch.tensor(ids + [0] * (n - len(ids)))`. All that was cut to the
    same size, and is returned together, is filled up together.
    """
    function = spot.place.source.function_at(spot.place.line)
    filling = function is not None and any(_missing(spot, function))
    if not returned(spot) or function is None or filling or not ragged(evidence):
        return
    for full, names in _cut_to(spot, function, evidence).items():
        news = [row for part in parts(spot.place.node) for row in _filled_up(spot, part, names, full, evidence)]
        for at, (node, new) in enumerate(news):
            yield Offer("lengthened", spot, node, new, "wanted", -0.2 * (len(news) > 1), twins=tuple(news[at + 1 :]))


def _cut_to(spot: Spot, function: Function, evidence: Evidence) -> dict[str, set[str]]:
    """The sizes to which a function cuts something, where the longest samples have them, and what it cuts so."""
    longest = max(size for shape, _ in evidence.crash.before for size in shape)  # type: ignore[union-attr]
    found: dict[str, set[str]] = {}
    for one in walked(function):
        full = _length_of(one, spot) if isinstance(one, ast.Subscript) else None
        if not isinstance(one, ast.Subscript) or full is None or integer(spot, full) not in (longest, None):
            continue
        names = found.setdefault(text(spot, full), set())
        names.add(text(spot, one.value))
        names.update(text(spot, target) for target in _targets(spot, one))
    return found


def _length_of(node: ast.Subscript, spot: Spot) -> ast.expr | None:
    """`n` of `x[:n]`, `x[..., :n]` and `x[start:start + n]`."""
    part = node.slice.elts[-1] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
    end = part.upper if isinstance(part, ast.Slice) and part.step is None else None
    if not isinstance(part, ast.Slice) or part.lower is None:
        return end
    sides = (end.left, end.right) if isinstance(end, ast.BinOp) and isinstance(end.op, ast.Add) else ()
    others = [one for one in sides if text(spot, one) != text(spot, part.lower)]
    return others[0] if len(others) == 1 and len(sides) == 2 else None


def _targets(spot: Spot, node: ast.AST) -> list[ast.expr]:
    """The names that a value is bound to, or what is made of it alone: `ids` of `ids = torch.tensor(rows[i][:n])`."""
    statement = spot.place.source.parent_of(node)
    return statement.targets if isinstance(statement, ast.Assign) else []


def _filled_up(
    spot: Spot, part: ast.expr, names: Collection[str], full: str, evidence: Evidence
) -> Iterator[tuple[ast.expr, str]]:
    """What fills up a part of a sample that was cut: the list of which a tensor is made, or a tensor."""
    inner = part.args[0] if isinstance(part, ast.Call) and part.args else part
    own, axis = text(spot, inner), _apart(evidence)
    if inner is not part and own in names and called(part) in _MAKING:  # type: ignore[arg-type]
        yield inner, f"{own} + [0] * ({full} - len({own}))"
        return
    length = own if inner is not part and called(part) in _FILLING else f"{own}.size({axis})"  # type: ignore[arg-type]
    if axis is not None and (own in names if inner is part else any(length == f"len({one})" for one in names)):
        yield part, f"{functional(spot.place)}.pad({text(spot, part)}, ({'0, 0, ' * (-1 - axis)}0, {full} - {length}))"


def _apart(evidence: Evidence) -> int | None:
    """The one dimension in which samples differ, counted from the end."""
    shapes = [shape for shape, _ in evidence.crash.before] if evidence.crash is not None else []
    sizes = enumerate(zip(*shapes, strict=False), -len(shapes[0])) if shapes else ()
    found = [at for at, row in sizes if len(set(row)) > 1]
    return found[0] if len(found) == 1 else None


def facing(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`F.pad(x, (0, n - len(x)))` -> `F.pad(x, (0, 0, 0, n - len(x)))`, or the other way: it begins at the last one."""
    for node in calls(spot) if ragged(evidence) else ():
        given = node.args[1] if called(node) == "pad" and len(node.args) > 1 else None
        pairs = [text(spot, one) for one in given.elts] if isinstance(given, ast.Tuple) else []
        if given is not None and len(pairs) == 2:
            yield Offer("facing", spot, given, f"(0, 0, {', '.join(pairs)})", "axis")
        elif given is not None and pairs[:2] == ["0", "0"] and len(pairs) == 4:
            yield Offer("facing", spot, given, f"({', '.join(pairs[2:])})", "axis")


def fills(offer: Offer) -> bool:
    """Whether an offer changes how much something is filled up by: `n - len(x)`, or what is computed of that."""
    around = itertools.takewhile(lambda one: isinstance(one, ast.expr), offer.place.source.up_from(offer.node))
    inner = [*around, *walked(offer.node)]
    return any(isinstance(one, ast.BinOp) and isinstance(one.op, ast.Sub) and _measured(one.right) for one in inner)
