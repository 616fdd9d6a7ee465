"""Lengths of sequences that layers have made shorter since."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.edits.generators.slices import Operand, operands
from explainer.edits.place import as_primary
from explainer.repair.atoms.common import expressions, is_value, shape_of, tensors, text
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot, spots
from explainer.source import called

#: Of how many steps layers leave one.
_FACTORS = range(2, 17)


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
    return any(isinstance(one, ast.BinOp) for one in ast.walk(spot.place.statement().node))


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

    Where it is made, or handed over: `layer(x, mask)`. The size by which it is too short is one of a tensor in scope.
    """
    said = set(evidence.said)
    for node, own in _masks(spot, evidence):
        missing = {one - own for one in said if one > own} if own in said else set()
        for name, shape in tensors(spot).items():
            for at, size in enumerate(shape):
                if size in missing and at and name.isidentifier():
                    more = f"({name}.size({at}), 0)" if _leads(spot, name) else f"(0, {name}.size({at}))"
                    new = f"torch.nn.functional.pad({text(spot, node)}, {more})"
                    yield Offer("extended", spot, node, new, "beside", 0.0)


def _masks(spot: Spot, evidence: Evidence) -> Iterator[tuple[ast.expr, int]]:
    """The masks of samples at a place, with their lengths: what made them, and what a call above is given."""
    step, node = spot.step, spot.place.node
    makes = spot.role in ("slice", "returned") and isinstance(node, ast.expr)
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
    function = spot.place.source.function_at(spot.place.span.line)
    nodes = ast.walk(function) if function is not None else ()
    given = [one.args[0] for one in nodes if isinstance(one, ast.Call) and called(one) == "cat" and one.args]
    firsts = [one.elts[0] for one in given if isinstance(one, (ast.List, ast.Tuple)) and one.elts]
    return any(isinstance(one, ast.Name) and one.id == name for one in firsts)
