"""Edits of tensors that a loop writes slice by slice: slices in a list, stacked at the end, or copies when read."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from explainer.diagnosis import Edit, Span
from explainer.edits.kinds.operators import SIGNS
from explainer.edits.kinds.statements import move_statement
from explainer.edits.lines import EditError, changed, indentation, inserted, joined
from explainer.edits.place import Place, bound_above
from explainer.source import holds, walked

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_NO_NUMBERS = (ast.Slice, ast.Compare, ast.List, ast.Tuple, ast.Starred)


def list_of_slices(at: Place, target: str) -> tuple[Edit, ...]:
    """`out[:, t] = v` in a loop -> `out = list(out.unbind(1))`, `out[t] = v`, `out = torch.stack(out, dim=1)`.

    EditError where the loop reads or writes the tensor in another way than by one number in one dimension.
    """
    source = at.source
    loop = _outermost(at)
    made = _made_before(at, loop, target)
    first = made.lineno if made is not None else loop.lineno
    uses = [one for one in _uses(at, target) if first < one.lineno <= (loop.end_lineno or 0)]
    parents = _parents(at, uses)
    numbers = [_number(parents[id(one)], one) for one in uses]
    dimensions = {dimension for dimension, _ in numbers}
    if not numbers or len(dimensions) > 1:
        raise EditError("the slices are not of one dimension")
    dim = dimensions.pop()
    changes = [
        (source.span(parents[id(one)]), f"{target}[{source.text(number)}]")
        for one, (_, number) in zip(uses, numbers, strict=True)
    ]
    changes = [*_grown(at, loop, changes), *_filled(at, changes)]
    stacked = f"torch.stack({target}{f', dim={dim}' if dim else ''})"
    end = inserted(source, (loop.end_lineno or 0) + 1, f"{indentation(source, loop.lineno)}{target} = {stacked}")
    return joined(source, _unbound(at, made, loop, target, dim, changes), end)


def _unbound(
    at: Place, made: ast.Assign | None, loop: ast.stmt, target: str, dim: int, changes: Sequence[tuple[Span, str]]
) -> tuple[Edit, ...]:
    """The slices taken apart where the tensor is made, else just before the loop; the other changes with it."""
    source, call = at.source, f".unbind({dim or ''})"
    rest = [(span, text) for span, text in changes if span.code != text]
    if made is not None:
        return changed(source, [*rest, (source.span(made.value), f"list({source.text(made.value)}{call})")])
    put = inserted(source, loop.lineno, f"{indentation(source, loop.lineno)}{target} = list({target}{call})")
    return joined(source, put, changed(source, rest) if rest else ())


def _outermost(at: Place) -> ast.stmt:
    """The outermost loop of the function around a statement."""
    line = at.node.lineno
    function = at.source.function_at(line)
    loops = [one for one in walked(function or at.source.tree or ast.Module([], [])) if isinstance(one, _LOOPS)]
    around = [one for one in loops if holds(one, line)]
    if not around:
        raise EditError("no loop stands around the write")
    return min(around, key=lambda one: one.lineno)


def _made_before(at: Place, loop: ast.stmt, target: str) -> ast.Assign | None:
    """The call that makes a tensor above the loop, where all that is done with it until the loop is to take slices."""
    made = bound_above(at.source.scope_at(loop.lineno), target, loop.lineno)
    if made is None or not isinstance(made.value, ast.Call) or made.col_offset != loop.col_offset:
        return None
    between = [one for one in _uses(at, target) if made.lineno < one.lineno < loop.lineno]
    parents = _parents(at, between)
    sliced = all(isinstance(parents[id(one)], ast.Subscript) for one in between)
    return made if sliced else None


def _uses(at: Place, target: str) -> list[ast.expr]:
    """Where the function of the write names a tensor."""
    scope = at.source.scope_at(at.node.lineno)
    names = [one for one in walked(scope) if isinstance(one, (ast.Name, ast.Attribute))]
    return [one for one in names if at.source.text(one) == target]


def _parents(at: Place, nodes: Sequence[ast.expr]) -> dict[int, ast.AST]:
    wanted = {id(one) for one in nodes}
    found: dict[int, ast.AST] = {}
    for parent in at.source.nodes():
        found |= {id(child): parent for child in ast.iter_child_nodes(parent) if id(child) in wanted}
    return found


def _number(parent: ast.AST, node: ast.expr) -> tuple[int, ast.expr]:
    """The dimension and the number of `x[t]` or `x[:, t]`."""
    if not isinstance(parent, ast.Subscript) or parent.value is not node:
        raise EditError("the tensor is used as a whole")
    parts = parent.slice.elts if isinstance(parent.slice, ast.Tuple) else [parent.slice]
    numbers = [(at, part) for at, part in enumerate(parts) if not _whole(part)]
    if len(numbers) != 1 or (isinstance(numbers[0][1], (*_NO_NUMBERS, ast.Constant)) and not _integer(numbers[0][1])):
        raise EditError("the tensor is not indexed by one number")
    return numbers[0]


def _whole(part: ast.expr) -> bool:
    return isinstance(part, ast.Slice) and part.lower is part.upper is part.step is None


def _integer(part: ast.expr) -> bool:
    return isinstance(part, ast.Constant) and type(part.value) is int


def _grown(at: Place, loop: ast.stmt, changes: Sequence[tuple[Span, str]]) -> list[tuple[Span, str]]:
    """`out[t] += v` would write into a slice: it becomes `out[t] = out[t] + (v)`."""
    grown = list[tuple[Span, str]]()
    spans = {(span.line, span.column): text for span, text in changes}
    for one in walked(loop):
        place = at.source.span(one.target) if isinstance(one, ast.AugAssign) else None
        text = spans.get((place.line, place.column)) if place is not None else None
        if isinstance(one, ast.AugAssign) and text is not None:
            value = at.source.text(one.value)
            inner = [span for span, _ in changes if _within(span, at.source.span(one.value))]
            if inner:
                raise EditError("the added value reads the tensor as well")
            grown.append((at.source.span(one), f"{text} = {text} {SIGNS[type(one.op)]} ({value})"))
            spans.pop((place.line, place.column))  # type: ignore[union-attr]
    kept = [(span, text) for span, text in changes if (span.line, span.column) in spans]
    return [*kept, *grown]


def _filled(at: Place, changes: Sequence[tuple[Span, str]]) -> Iterator[tuple[Span, str]]:
    """`out[0] = 0.5` would put a number into the list: a slice that is filled with it goes there."""
    slices = {(span.line, span.column): text for span, text in changes}
    for node in at.source.nodes():
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            place = at.source.span(node.targets[0])
            read = slices.get((place.line, place.column))
            if read is not None:
                yield at.source.span(node.value), f"torch.full_like({read}, {at.source.text(node.value)})"


def _within(inner: Span, outer: Span) -> bool:
    start, end = (outer.line, outer.column or 0), (outer.end_line or outer.line, outer.end_column or 0)
    return start <= (inner.line, inner.column or 0) < end


def copy_reads(at: Place, target: str) -> tuple[Edit, ...]:
    """`out[t] = f(out[t - 1])` -> `f(out[t - 1].clone())`: what the loop or statement reads is copied."""
    around = [one for one in walked(at.source.scope_at(at.node.lineno)) if isinstance(one, _LOOPS)]
    loops = [one for one in around if holds(one, at.node.lineno)]
    scope: ast.AST = max(loops, key=lambda one: one.lineno, default=at.statement().node)  # type: ignore[arg-type]
    reads = list(_reads(at, scope, target))
    if not reads:
        raise EditError("nothing of it is read")
    return changed(at.source, [(at.at(one).end, ".clone()") for one in reads])


def _reads(at: Place, scope: ast.AST, target: str) -> Iterator[ast.expr]:
    """The slices that are read, outermost subscripts only, and the tensor itself where a call is given it."""
    names = [one for one in _uses(at, target) if any(one is part for part in walked(scope))]
    parents = _parents(at, names)
    for one in names:
        parent = parents.get(id(one))
        if isinstance(parent, ast.Subscript) and parent.value is one and isinstance(parent.ctx, ast.Load):
            yield parent
        elif isinstance(parent, (ast.Call, ast.keyword)) and isinstance(one.ctx, ast.Load):  # type: ignore[attr-defined]
            yield one


def feed_pieces(at: Place, before: Place, to: str) -> tuple[Edit, ...]:
    """`u = net(p)` and `x, t = p[:, :1], p[:, 1:]` -> the pieces first, and `u = net(torch.cat([x, t], dim=1))`.

    `at` is `p` in the call, `before` the statement that cuts the pieces out.
    """
    source, fed = at.source, at.statement()
    put = changed(source, [(at.span, to)])
    if before.statement().node.lineno < fed.node.lineno:
        return put
    return joined(source, move_statement(before, before=fed), put)


def ask_whole(each: tuple[Place, ...], base: str, cuts: Sequence[str]) -> tuple[Edit, ...]:
    """`grad(u, x)[0]` -> `grad(u, points)[0][:, 0:1]`, for each place that names a column."""
    changes = list[tuple[Span, str]]()
    for place, cut in zip(each, cuts, strict=True):
        call = place.parent()
        call = call if isinstance(call, ast.Call) else place.at(call).parent()  # type: ignore[arg-type]
        if not isinstance(call, ast.Call):
            raise EditError("no call asks for it")
        outer = place.at(call).parent()
        whole = outer if isinstance(outer, ast.Subscript) and outer.value is call else call
        changes += [(place.span, base), (place.at(whole).end, cut)]
    return changed(each[0].source, changes)
