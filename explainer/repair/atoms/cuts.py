"""Cuts made elsewhere than was meant, along another dimension or beside a seam, or not at all: of what is kept."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from typing import Any

from explainer.edits.evidence import Evidence, Step
from explainer.edits.expressions import last_cut
from explainer.edits.generators.slices import operands
from explainer.edits.place import Place, as_primary
from explainer.repair.atoms.common import (
    calls,
    expressions,
    integer,
    integers,
    measured,
    number,
    shape_of,
    tensors,
    text,
)
from explainer.repair.offer import Offer
from explainer.repair.settings import settings
from explainer.repair.spots import Spot, scope_at
from explainer.source import of_self, stored, walked

#: How many steps behind the failing call a cut is looked for, and how many a cut value is followed back to where it was
#: joined.
_CUTS, _STEPS = 4, 8
#: How many names of one size are tried.
_ENDS = 3
_JOINS = ("cat", "concat", "concatenate", "hstack")


def recut(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`wave[:n]` -> `wave[:, :n]`, where fewer than n entries came out, and another dimension has more."""
    for node in expressions(spot):
        most = _most(spot, node.slice) if isinstance(node, ast.Subscript) else None
        left = (spot.shape if node is spot.place.node else None) or shape_of(spot, node, evidence)
        if most is None or not left or left[0] >= most:
            continue
        value, cut = text(spot, node.value), spot.place.source.text(node.slice)  # type: ignore[attr-defined]
        for at, size in enumerate(left):
            if size > most:
                yield Offer("recut", spot, node, f"{value}[{':, ' * at}{cut}]", "other dimension", 0.1 * at)


def kept(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`loss(x, self.labels)` -> `self.labels[:x.size(0)]`: what was made once, and is longer than what came.

    `encoder(x, mask=self.mask)` -> `self.mask[:n, :n]`, where it is square.
    """
    yield from _square(spot, evidence)
    known = [one for one in operands(evidence) if one.place is not None] if spot.role == "crash" else []
    for one, other in itertools.permutations(known, 2):
        node: Any = one.place.node  # type: ignore[union-attr]
        if not _made_once(spot, node) or not other.shape or not one.shape:
            continue
        apart = [at for at, (own, came) in enumerate(zip(one.shape, other.shape, strict=False)) if own != came]
        if len(apart) != 1 or one.shape[apart[0]] <= other.shape[apart[0]] or other.shape[apart[0]] <= 1:
            continue
        end = f"{as_primary(other.place)}.size({apart[0]})"  # type: ignore[arg-type]
        new = f"{text(spot, node)}[{':, ' * apart[0]}:{end}]"
        yield Offer("kept", spot, node, new, "made once")
        if again := _read_again(spot, node):
            yield Offer("kept", spot, node, new, "wherever read", twins=tuple((each, new) for each in again))


def _square(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """A mask that was made once for all pairs of steps, given to a call of fewer of them."""
    every = calls(spot) if "mask" in evidence.message else []
    for node in [one for call in every for one in (*call.args, *(word.value for word in call.keywords))]:
        shape = tensors(spot).get(text(spot, node), [])
        square = len(shape) > 1 and shape[-1] == shape[-2] in evidence.said and _made_once(spot, node)
        for size in (one for one in evidence.said if 1 < one < shape[-1]) if square else ():
            ends = [name for name, value in integers(spot).items() if value == size] or list(measured(spot, size))
            for at, end in enumerate(ends[:_ENDS]):
                cut = f"[{':, ' * (len(shape) - 2)}:{end}, :{end}]"
                yield Offer("kept", spot, node, f"{text(spot, node)}{cut}", "made once", 0.1 * at)


def _made_once(spot: Spot, node: ast.AST) -> bool:
    """Whether a tensor is an attribute, or a name of the file's top that a function reads."""
    function = spot.place.source.function_at(spot.place.line)
    if function is None or not isinstance(node, ast.Name):
        return of_self(node)
    return node.id not in stored(function) | {one.arg for one in walked(function) if isinstance(one, ast.arg)}


def _read_again(spot: Spot, node: ast.expr) -> list[ast.expr]:
    """Where a function reads the same again, further down."""
    function, same = spot.place.source.function_at(node.lineno), ast.unparse(node)
    every = walked(function) if function is not None else ()
    return [one for one in every if isinstance(one, ast.expr) and isinstance(one, type(node))
            and one.lineno > node.lineno and ast.unparse(one) == same]  # fmt: skip


def _most(spot: Spot, part: ast.expr) -> int | None:
    """How many entries `:n` or `-n:` leaves at most; None for any other subscript."""
    if not isinstance(part, ast.Slice) or part.step is not None or (part.lower is None) == (part.upper is None):
        return None
    bound = integer(spot, part.upper or part.lower)  # type: ignore[arg-type]
    if bound is None or (bound > 0) != (part.lower is None):
        return None
    return abs(bound)


def seam(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`n_numbers = 5` -> `n_numbers = 6`, where `x[:, n_numbers:]` cuts what was joined of 6 and 4 features."""
    nodes = {id(node): node for node in expressions(spot) if number(node) is not None}
    for bound, seams in _beside_seams(evidence) if nodes else ():
        own = Spot(bound, "slice", 0, None, scope=scope_at(evidence, bound))
        value = integer(own, bound.node)
        if value is None or not seams or value in seams:
            continue
        places = [bound] if number(bound.node) is not None else settings(bound.node, evidence)
        for node in {id(place.node): nodes.get(id(place.node)) for place in places}.values():
            if node is not None and number(node) == value:
                nearest = min(seams, key=lambda one: abs(one - value))
                yield Offer("seam", spot, node, str(nearest), "seam")


def _beside_seams(evidence: Evidence) -> Iterator[tuple[Place, list[int]]]:
    """The bounds at which values are cut along their last dimension, and where their parts meet in it."""
    for at, step in enumerate(evidence.steps[1 : _CUTS + 1], 1):
        place = step.place if step.function == "__getitem__" else None
        bound = _last_bound(place.node, len(step.before[0][0])) if place is not None and step.before else None
        if place is not None and bound is not None:
            yield place.at(bound), _seams(evidence, at)


def _last_bound(node: ast.AST, rank: int) -> ast.expr | None:
    """`n` of `x[:, n:]` and `x[..., :n]`, which cut the last dimension alone."""
    cut = last_cut(node, rank)
    return (cut.lower or cut.upper) if cut is not None and (cut.lower is None) != (cut.upper is None) else None


def _seams(evidence: Evidence, at: int) -> list[int]:
    """Where the parts meet that the input of a step was joined of along its last dimension; none where it was not."""
    size = evidence.steps[at].before[0][0][-1]
    for _ in range(_STEPS):
        before = evidence.steps[at].inputs[:1]
        if not before or before[0] is None or before[0] >= len(evidence.steps):
            return []
        at = before[0]
        step = evidence.steps[at]
        if not step.shape or step.shape[-1] != size:
            return []
        if step.function in _JOINS:
            return _meets(step)
    return []


def _meets(step: Step) -> list[int]:
    sizes = [shape[-1] for shape, _ in step.before if shape]
    return list(itertools.accumulate(sizes))[:-1] if sum(sizes) == step.shape[-1] else []
