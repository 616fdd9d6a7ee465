"""Candidates for two views of each sample compared in one matrix, where the targets count the samples of one view."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from explainer.diagnosis import Edit
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Step
from explainer.edits.lines import changed, joined
from explainer.edits.place import Place
from explainer.edits.slices import chain, operands, trunk
from explainer.edits.statements import insert_statement

_PRODUCTS = ("matmul", "mm", "__matmul__", "cosine_similarity", "einsum", "cdist")
_JOINS = ("cat", "concat", "concatenate", "vstack")
#: What keeps a row from being compared with itself.
_MASKING = ("masked_fill", "masked_fill_", "fill_diagonal_", "eye")


def other_view(evidence: Evidence) -> Iterator[Candidate]:
    """`arange(n)` -> `cat([arange(n, 2 * n), arange(n)])`: row i of two joined views belongs to the other's."""
    join, place = views_joined(evidence), _counting(evidence)
    if join is None or place is None or not _masked(evidence):
        return
    name, before = _named(place)
    new = _both(place, name)
    edits = partial(_with_statement, place, new, before)
    yield from evidence.made(edits, "replace", place, "other-view", new=new, rows=join.shape[0] // 2)


def each_with_other(evidence: Evidence) -> Iterator[Candidate]:
    """`z @ z.t()` -> `z1 @ z2.t()` for `z = cat([z1, z2])`, where nothing keeps a row from meeting itself."""
    join, product = views_joined(evidence), _product(evidence)
    names = _joined_as(join.place) if join is not None and join.place is not None else None
    place = product.place if product is not None else None
    sides = _sides(place.node) if place is not None else []
    if names is None or place is None or _masked(evidence) or _counting(evidence) is None:
        return
    found = [(place.source.span(node), part) for side, part in zip(sides, names[1:], strict=True)
             for node in ast.walk(side) if isinstance(node, ast.Name) and node.id == names[0]]  # fmt: skip
    if len(found) >= 2:
        yield from evidence.made(partial(changed, place.source, found), "replace", place, "views-apart",
                                 one=names[1], other=names[2])  # fmt: skip


def views_joined(evidence: Evidence) -> Step | None:
    """The join of two batches of which a loss gets the square of all rows with all, and targets for half of them."""
    every, crash = operands(evidence), evidence.crash
    if crash is None or crash.function not in ("cross_entropy", "nll_loss") or len(every) < 2:
        return None
    scores, count = every[0].shape, every[1].shape
    if len(count) != 1 or scores != [2 * count[0], 2 * count[0]] or _product(evidence) is None:
        return None
    return next((one for one in chain(evidence, every[0].start) if _joins(one, count[0])), None)


def _product(evidence: Evidence) -> Step | None:
    scores = operands(evidence)[0]
    steps = chain(evidence, scores.start)
    return next((one for one in steps if one.function in _PRODUCTS and one.shape == scores.shape), None)


def _masked(evidence: Evidence) -> bool:
    scores = operands(evidence)[0]
    return any(one.function in _MASKING and one.shape == scores.shape for one in chain(evidence, scores.start))


def _joins(step: Step, count: int) -> bool:
    sizes = [shape[0] for shape, _ in step.before if shape]
    return step.function in _JOINS and sizes == [count, count] and step.shape[:1] == [2 * count]


def _counting(evidence: Evidence) -> Place | None:
    """The `arange(n)` that the targets are."""
    made = trunk(evidence, operands(evidence)[1].start, 4)
    place = made[-1].place if made and made[-1].function == "arange" else None
    node = place.node if place is not None else None
    return place if isinstance(node, ast.Call) and len(node.args) == 1 else None


def _named(place: Place) -> tuple[str, str]:
    """How the count can be written twice, and the statement that names it where it is a call; `""` for none."""
    count = place.node.args[0]  # type: ignore[union-attr]
    text = place.source.text(count)
    scope = place.source.scope_at(place.span.line)
    taken = {getattr(one, "id", getattr(one, "arg", "")) for one in ast.walk(scope)} if scope is not None else {"n"}
    if isinstance(count, (ast.Name, ast.Constant, ast.Attribute)) or "n" in taken:
        return (f"({text})" if isinstance(count, ast.BinOp) else text), ""
    return "n", f"n = {text}"


def _both(place: Place, name: str) -> str:
    """The targets of both views: those of the first stand in the second half, and the other way round."""
    call = place.node
    assert isinstance(call, ast.Call)
    function = place.source.text(call.func)
    rest = "".join(f", {place.source.text(one)}" for one in call.keywords)
    prefix = f"{function.rpartition('.')[0]}." if "." in function else "torch."
    return f"{prefix}cat([{function}({name}, 2 * {name}{rest}), {function}({name}{rest})])"


def _with_statement(place: Place, new: str, before: str) -> tuple[Edit, ...]:
    edits = changed(place.source, [(place.span, new)])
    added = [insert_statement(before, before=place.statement())] if before else []
    return joined(place.source, *added, edits)


def _joined_as(place: Place) -> tuple[str, str, str] | None:
    """The name of a join of two values, and theirs."""
    statement, node = place.statement().node, place.node
    target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is node else None
    given = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if not isinstance(target, ast.Name) or not isinstance(given, (ast.List, ast.Tuple)) or len(given.elts) != 2:
        return None
    first, second = (place.source.text(one) for one in given.elts)
    return target.id, first, second


def _sides(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    given = [*node.args] if isinstance(node, ast.Call) else []
    owner = [node.func.value] if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else []
    return given[:2] if len(given) > 1 else [*owner, *given]
