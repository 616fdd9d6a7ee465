"""Candidates for results beyond any memory that pair each row with every other: folds, broadcasts, distances."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.diagnosis import Edit
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Step
from explainer.edits.generators.shapes import MATRIX
from explainer.edits.generators.slices import editable, operands, trunk
from explainer.edits.kinds.methods import delete_method, insert_method
from explainer.edits.kinds.statements import delete_statement
from explainer.edits.lines import changed, joined
from explainer.edits.place import Place, as_operand, by_file
from explainer.source import holds, walked

_FOLDS = ("view", "reshape", "flatten")
#: What reduces the differences of all pairs along their features, and what gives the same without them.
_DISTANCES = (
    (r"{}(?:\.pow\(2\)|\.square\(\)) *\.sum\((?:dim=|axis=)?-1\)", "torch.cdist({}, {}).pow(2)"),
    (r"\({} ?\*\* ?2\)\.sum\((?:dim=|axis=)?-1\)", "torch.cdist({}, {}).pow(2)"),
    (r"{}\.norm\((?:p=2, ?)?dim=-1\)", "torch.cdist({}, {})"),
    (r"torch\.(?:linalg\.)?(?:vector_)?norm\({}, (?:p=2, ?)?dim=-1\)", "torch.cdist({}, {})"),
    (r"{}\.abs\(\)\.sum\((?:dim=|axis=)?-1\)", "torch.cdist({}, {}, p=1)"),
)


def unfolded(evidence: Evidence) -> Iterator[Candidate]:
    """`x.reshape(-1, dim)` -> `x` on the way to a product: the pairs are those within a sample, not of the batch."""
    crash = evidence.crash
    if crash is None or crash.function not in (*MATRIX, "einsum", "scaled_dot_product_attention", "cdist", "softmax"):
        return
    folds = [(step, step.place) for step in _folds(evidence) if step.place is not None and _is_method(step.place)]
    if len(folds) > 1:
        places = [place for _, place in folds]
        words: dict[str, Any] = {"what": places[0].short, "shape": folds[0][0].before[0][0]}
        yield from evidence.made(partial(_all_undone, places), "delete-method", places[0], "unfold-batch", **words)
    for step, place in folds:
        words = {"what": place.short, "shape": step.before[0][0]}
        yield from evidence.made(partial(_all_undone, [place]), "delete-method", place, "unfold-batch", **words)
        yield from _unfolded_later(evidence, step, place)


def _is_method(place: Place) -> bool:
    return isinstance(place.node, ast.Call) and isinstance(place.node.func, ast.Attribute)


def _all_undone(places: list[Place]) -> tuple[Edit, ...]:
    """Method calls taken off; statements that would be `x = x` go."""
    edits: list[Edit] = []
    for source, own in by_file(tuple(places)):
        edits += joined(source, *(_undone(place) for place in own))
    return tuple(edits)


def _undone(place: Place) -> tuple[Edit, ...]:
    statement, owner = place.statement(), place.source.text(place.node.func.value)  # type: ignore[union-attr]
    alone = statement.text == f"{owner} = {place.text}"
    return delete_statement(statement) if alone else delete_method(place)


def _folds(evidence: Evidence) -> list[Step]:
    """The calls behind the operands that made one dimension of the first ones."""
    behind = [step for operand in operands(evidence) for step in trunk(evidence, operand.start, 16)]
    return [step for step in {id(step): step for step in behind}.values() if _joins(step)]


def _joins(step: Step) -> bool:
    before = step.before[0][0] if step.before else []
    dropped = len(before) - len(step.shape)
    return step.function in _FOLDS and dropped > 0 and step.shape[0] == math.prod(before[: dropped + 1]) > before[0] > 1


def _unfolded_later(evidence: Evidence, fold: Step, place: Place) -> Iterator[Candidate]:
    """`.unflatten(0, x.shape[:2])` behind what a layer made of the folded rows, in the function that folded them."""
    owner = place.source.text(place.node.func.value)  # type: ignore[union-attr]
    function = place.source.function_at(place.line)
    if not owner.isidentifier():
        return
    method = f"unflatten(0, {owner}.shape[:{len(fold.before[0][0]) - len(fold.shape) + 1}])"
    for operand in operands(evidence):
        for step in reversed(trunk(evidence, operand.start, 16)):
            at = next((one for one in step.places if one.source is place.source and editable(one)), None)
            if at is None or step is fold or place.source.function_at(at.span.line) is not function:
                continue
            if step.shape[:1] == fold.shape[:1] and at.span.line >= place.line:
                words: dict[str, Any] = {"what": at.short, "method": f".{method}", "shape": step.shape}
                yield from evidence.made(partial(insert_method, at, method), "insert-method", at, "insert", **words)


def row_by_row(evidence: Evidence) -> Iterator[Candidate]:
    """`torch.diag(a @ b.T)` -> `(a * b).sum(-1)`; `a @ a.T` -> `a.T @ a`, the products of features."""
    crash = evidence.crash
    place = crash.place if crash is not None else None
    if place is None or not isinstance(place.node, ast.BinOp) or not isinstance(place.node.op, ast.MatMult):
        return
    left, right = place.source.text(place.node.left), place.source.text(place.node.right)
    turned = _untransposed(place.node.right)
    if turned is None:
        return
    other = place.source.text(turned)
    around = _around(place, (r"torch\.diag(?:onal)?\({}\)", r"\({}\)\.diag(?:onal)?\(\)"))
    if around is not None:
        new = f"({as_operand(left)} * {as_operand(other)}).sum(-1)"
        yield from evidence.replaced(around, new, "replace", "rename", new=new, old=around.short)
    if _untransposed(place.node.left) is None:
        new = f"{as_operand(left)}{right[len(other) :]} @ {as_operand(other)}"
        yield from evidence.replaced(place, new, "replace", "rename", new=new, old=place.short)


def _untransposed(node: ast.expr) -> ast.expr | None:
    """`b` of `b.T`, `b.t()`, `b.mT`, `b.transpose(-2, -1)`."""
    if isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("t", "transpose"):
        return node.func.value
    return None


def distances(evidence: Evidence) -> Iterator[Candidate]:
    """`(a[:, None] - b[None]).pow(2).sum(-1)` -> `torch.cdist(a, b).pow(2)`, which needs no difference of each pair."""
    crash = evidence.crash
    place = crash.place if crash is not None else None
    pair = _paired(place) if place is not None else None
    if place is None or pair is None:
        return
    for pattern, text in _DISTANCES:
        new = text.format(*pair)
        around = _around(place, (pattern.replace("{}", r"\({}\)", 1), pattern))
        if around is not None:
            yield from evidence.replaced(around, new, "replace", "rename", new=new, old=around.short)
        yield from _named_first(evidence, place, pattern, new)


def _named_first(evidence: Evidence, place: Place, pattern: str, new: str) -> Iterator[Candidate]:
    """The same where the difference has a name that is used once, in the next statements."""
    statement = place.statement().node
    if not isinstance(statement, ast.Assign) or statement.value is not place.node or len(statement.targets) != 1:
        return
    name = place.source.text(statement.targets[0])
    function = place.source.scope_at(statement.lineno)
    reads = [one for one in walked(function) if isinstance(one, ast.Name) and one.id == name]  # type: ignore[arg-type]
    reads = [one for one in reads if isinstance(one.ctx, ast.Load)]
    if len(reads) != 1:
        return
    around = _around(place.at(reads[0]), (pattern,))
    if around is not None:
        edits = partial(_without_name, place.at(statement), around, new)
        yield from evidence.made(edits, "replace", around, "rename", new=new, old=around.short)


def _without_name(statement: Place, around: Place, new: str) -> tuple[Edit, ...]:
    return (*delete_statement(statement), *changed(around.source, [(around.span, new)]))


def _paired(place: Place) -> tuple[str, str] | None:
    """`a` and `b` of `a[:, None] - b[None]` and of the same with `unsqueeze`, rows of `a` first."""
    node = place.node
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        return None
    sides = [(_added(place, one)) for one in (node.left, node.right)]
    if None in sides or {one[1] for one in sides if one} != {0, 1}:
        return None
    first, second = sorted((one for one in sides if one), key=lambda one: -one[1])
    return first[0], second[0]


def _added(place: Place, node: ast.expr) -> tuple[str, int] | None:
    """An operand without its new dimension, and where that stands: 1 for `a[:, None]`, 0 for `b[None]` and `b`."""
    text = place.source.text(node)
    found = re.fullmatch(r"(.+?)(?:\[(:, ?)?None(?:, ?:)*\]|\.unsqueeze\((0|1|-2)\))", text, re.DOTALL)
    if found is None:
        return (text, 0) if isinstance(node, (ast.Name, ast.Attribute)) else None
    return found[1], int(bool(found[2]) or found[3] in ("1", "-2"))


def _around(place: Place, patterns: tuple[str, ...]) -> Place | None:
    """The expression around a place whose text is one of the patterns, `{}` the place's own."""
    for node in place.source.nodes():
        if isinstance(node, ast.Call) and holds(node, place.line):
            text = " ".join(place.source.text(node).split())
            own = re.escape(" ".join(place.text.split()))
            if any(re.fullmatch(pattern.replace("{}", own), text) for pattern in patterns):
                return place.at(node)
    return None
