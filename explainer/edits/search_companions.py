"""Candidates for what goes with a tensor and was not cut as that was: masks, weights, targets of all steps or rows."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Call, Evidence, Step
from explainer.edits.expressions import evaluated
from explainer.edits.place import Place, as_primary, bound_above
from explainer.edits.slices import operands
from explainer.edits.statements import insert_statement
from explainer.frozen import frozen

#: How many functions outward from the failing call are looked at.
_FRAMES = 4
_TENSORS = (ast.Name, ast.Attribute, ast.Subscript)


@frozen
class Cut:
    """A subscript that took `after` of the `before` entries that a tensor has along a dimension."""

    place: Place
    index: ast.expr
    dim: int
    before: int
    after: int

    @property
    def function(self) -> ast.AST | None:
        """The function in which it stands."""
        return self.place.source.function_at(self.place.span.line)


@frozen
class Whole:
    """A tensor that still has as many entries along a dimension as the other had before the cut."""

    place: Place
    dim: int
    frame: Call


def cut_too(evidence: Evidence) -> Iterator[Candidate]:
    """`loss(scores, ids[:, 1:], mask)` -> `mask[:, 1:]`: what goes with a part of a tensor is cut alike."""
    looked_up = evidence.crash is not None and evidence.crash.function == "embedding"  # fails by values, not by sizes
    for cut in cuts(evidence) if not looked_up else ():
        every = sorted(_wholes(evidence, cut), key=lambda one: _function(one.place) is not cut.function)
        made = [(whole, index) for whole in every for index in _indices(cut, whole)]
        for whole, index in made:
            yield from _cut(evidence, whole, cut, f"{':, ' * whole.dim}{index}")
        yield from _beside(evidence, cut)


def cuts(evidence: Evidence) -> Iterator[Cut]:
    """The subscripts on the way to the failing call that left a part of one dimension, nearest first."""
    for step in evidence.steps[1:]:
        node = step.place.node if step.place is not None else None
        if step.place is None or step.function != "__getitem__" or not isinstance(node, ast.Subscript):
            continue
        dim = _dimension(step)
        part = _part(node.slice, dim, len(step.shape)) if dim is not None else None
        if dim is not None and part is not None:
            yield Cut(step.place, part, dim, step.before[0][0][dim], step.shape[dim])


def _dimension(step: Step) -> int | None:
    """The one dimension along which a subscript left less than there was."""
    before = step.before[0][0] if step.before else []
    if len(before) != len(step.shape):
        return None
    less = [dim for dim, sizes in enumerate(zip(before, step.shape, strict=True)) if sizes[0] > sizes[1]]
    return less[0] if len(less) == 1 else None


def _part(index: ast.expr, dim: int, rank: int) -> ast.expr | None:
    """The part of an index that is for a dimension: a slice, or one tensor of positions for the first."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    dots = [at for at, one in enumerate(parts) if isinstance(one, ast.Constant) and one.value is ...]
    at = dim if not dots or dim < dots[0] else len(parts) - (rank - dim)
    part = parts[at] if 0 <= at < len(parts) else None
    whole = isinstance(part, ast.Name) and len(parts) == 1 and dim == 0
    return part if isinstance(part, ast.Slice) or whole else None


def _wholes(evidence: Evidence, cut: Cut) -> Iterator[Whole]:
    """The tensors that calls on the stack were given whole, where the others have the sizes of the part."""
    crash = evidence.crash
    sizes = {size for shape, _ in (crash.before if crash is not None else ()) for size in shape} | set(evidence.said)
    for frame in evidence.frames[: -_FRAMES - 1 : -1]:
        given = list(_given(evidence, frame))
        for place, shape in given:
            others = sizes | {size for other, own in given if other is not place for size in own}
            fits = [dim for dim, size in enumerate(shape) if size == cut.before]
            if fits and {cut.before, cut.after} <= others | set(shape) and cut.after in others:
                yield Whole(place, cut.dim if cut.dim in fits else fits[0], frame)


def _given(evidence: Evidence, frame: Call) -> Iterator[tuple[Place, list[int]]]:
    """The tensors that the source of a frame's call names, then those that the failing call got of none of them."""
    texts = []
    for node in ast.walk(frame.place.node):
        text = frame.place.source.text(node) if isinstance(node, _TENSORS) else ""
        if text and text not in texts and frame.shape(text.replace("'", '"')):
            texts.append(text)
            yield frame.place.at(node), frame.shape(text.replace("'", '"'))  # type: ignore[arg-type]
    for operand in operands(evidence) if frame is evidence.frames[-1] else ():
        named = operand.place is None or any(_names_in(operand.place.node, text) for text in texts)
        if operand.place is not None and not named:
            yield operand.place, operand.shape


def _names_in(node: ast.AST, text: str) -> bool:
    """Whether an expression is a tensor of this name, or a subscript of it."""
    while isinstance(node, ast.Subscript) and ast.unparse(node) != text:
        node = node.value
    return ast.unparse(node) == text


def _indices(cut: Cut, whole: Whole) -> Iterator[str]:
    """The cut's index in the names of a function, then the other end where it leaves out one."""
    text = cut.place.source.text(cut.index)
    if not isinstance(cut.index, ast.Slice):
        if _function(whole.place) is cut.function:
            yield text
        return
    if cut.index.step is not None or (cut.index.lower is not None and cut.index.upper is not None):
        return
    if _function(whole.place) is not cut.function:
        text = _renamed(cut, text, whole.frame.scope)
    if text:
        yield text
        yield _other_end(text)


def _other_end(text: str) -> str:
    head, _, tail = text.partition(":")
    return f":-{head}" if head and not tail else f"{tail[1:]}:" if tail.startswith("-") else text


def _renamed(cut: Cut, text: str, scope: Mapping[str, Any]) -> str:
    """A slice of another function in the names that one has: the same, or the one name of that number; else empty."""
    bound = cut.index.lower or cut.index.upper  # type: ignore[attr-defined]
    negative = isinstance(bound, ast.UnaryOp)
    number = bound.operand if isinstance(bound, ast.UnaryOp) else bound
    counted = cut.index.lower is not None or negative  # type: ignore[attr-defined]
    count = cut.before - cut.after if counted else cut.after
    if isinstance(number, ast.Constant) or evaluated(number, scope) == count:
        return text
    names = [name for name, value in scope.items() if value == count and not name.startswith("len(")]
    return text.replace(cut.place.source.text(number), names[0]) if len(names) == 1 else ""


def _cut(evidence: Evidence, whole: Whole, cut: Cut, index: str) -> Iterator[Candidate]:
    """A tensor cut where it is used; where it is used more often, right behind the other or where it is bound."""
    place, name = whole.place, _bare(whole.place)
    new = f"{as_primary(place)}[{index}]"
    words: dict[str, Any] = {"what": place.text[:48], "new": new[:70]}
    if name and len(_loads(place, name, cut)) > 1:
        bound = _bound(place, name)
        here = _function(place) is cut.function and isinstance(cut.place.statement().node, ast.Assign)
        if here and (bound is None or bound.span.line < cut.place.span.line):
            edits = partial(insert_statement, f"{name} = {name}[{index}]", after=cut.place)
            yield from evidence.made(edits, "insert-statement", place, "cut-too", **words)
        elif bound is not None:
            yield from evidence.replaced(bound, f"{as_primary(bound)}[{index}]", "insert-method", "cut-too", **words)
    yield from evidence.replaced(place, new, "insert-method", "cut-too", **words)


def _bare(place: Place) -> str:
    return place.node.id if isinstance(place.node, ast.Name) else ""


def _loads(place: Place, name: str, cut: Cut) -> list[ast.Name]:
    """The uses of a name, in its function behind the cut, or in all of its function."""
    function: Any = _function(place) or place.source.tree
    behind = cut.place.span.line if _function(place) is cut.function else 0
    every = [one for one in ast.walk(function) if isinstance(one, ast.Name) and one.id == name]
    return [one for one in every if isinstance(one.ctx, ast.Load) and one.lineno > behind]


def _bound(place: Place, name: str) -> Place | None:
    """What a name was last bound to in its function, above a place."""
    scope = _function(place) or place.source.tree
    found = bound_above(scope, name, place.span.line) if scope is not None else None
    return place.at(found.value) if found is not None else None


def _beside(evidence: Evidence, cut: Cut) -> Iterator[Candidate]:
    """`return x[keep], y` -> `return x[keep], y[keep]`: what is given back beside what was cut."""
    statement = cut.place.statement()
    node = statement.node
    parts = node.value.elts if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) else []
    if not any(one is cut.place.node for one in parts):
        return
    for one in parts:
        if isinstance(one, (ast.Name, ast.Attribute)):
            place, index = statement.at(one), cut.place.source.text(cut.place.node.slice)  # type: ignore[union-attr]
            words: dict[str, Any] = {"what": place.text, "new": f"{place.text}[{index}]"[:70]}
            yield from evidence.replaced(place, f"{place.text}[{index}]", "insert-method", "cut-too", **words)


def _function(place: Place) -> ast.AST | None:
    return place.source.function_at(place.span.line)
