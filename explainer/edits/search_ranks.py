"""Candidates for a share of pairs that is counted pair by pair: counted by ranks, which needs no pairs."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from functools import partial

from explainer.diagnosis import Edit
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.lines import changed
from explainer.edits.place import Place
from explainer.edits.statements import delete_statement
from explainer.patterns import Pattern

_ADDED = Pattern(r"(.+?)(?:\[(?:None(?:, ?:)?|:, ?None)\]|\.unsqueeze\((?:0|1|-1|-2)\)|\.view\((?:-1, ?1|1, ?-1)\))")
#: How many of `b` are below an `a`, by what is compared: `a > b`, `a >= b`; of `<` and `<=` the others.
_COUNTS = {
    ast.Gt: "torch.searchsorted({b}.sort().values, {a})",
    ast.GtE: "torch.searchsorted({b}.sort().values, {a}, right=True)",
    ast.Lt: "(len({b}) - torch.searchsorted({b}.sort().values, {a}, right=True))",
    ast.LtE: "(len({b}) - torch.searchsorted({b}.sort().values, {a}))",
}


def ranked(evidence: Evidence) -> Iterator[Candidate]:
    """`(a[:, None] - b[None] > 0).float().mean()` -> the mean of `searchsorted`, for vectors `a` and `b`."""
    crash = evidence.crash
    place = crash.place if crash is not None else None
    if crash is None or place is None or not all(math.prod(shape) == max(shape) for shape, _ in crash.before[:2]):
        return
    pair, named = _pair(place), _name_of(place)
    for compared in _comparisons(place, named) if pair is not None else ():
        for whole, scale in _reductions(place, compared):
            if pair is not None and type(compared.ops[0]) in _COUNTS:
                count = _COUNTS[type(compared.ops[0])].format(a=pair[0], b=pair[1])
                new = f"({count}.double().mean() / len({pair[1]}))" if scale else f"{count}.sum()"
                around = place.at(whole)
                edits = partial(_instead, place, around, new, named is not None)
                yield from evidence.made(edits, "replace", place, "rename", new=new, old=around.text)


def _pair(place: Place) -> tuple[str, str] | None:
    """`a` and `b`, vectors, of `a[:, None] - b[None]` or of a comparison of the two."""
    node = place.node
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        sides = [node.left, node.right]
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        sides = [node.left, node.comparators[0]]
    else:
        return None
    texts = [place.source.text(one) for one in sides]
    found = [_ADDED.fullmatch(text) for text in texts]
    if not any(found):
        return None
    first, second = (match[1] if match else text for match, text in zip(found, texts, strict=True))
    return first, second


def _name_of(place: Place) -> str | None:
    """The name that the pairs are bound to."""
    statement = place.statement().node
    if isinstance(statement, ast.Assign) and statement.value is place.node:
        return place.source.text(statement.targets[0])
    return None


def _comparisons(place: Place, named: str | None) -> Iterator[ast.Compare]:
    """The comparison that the pairs are, or of their differences with zero; of a name where it is read once."""
    if isinstance(place.node, ast.Compare) and named is None:
        yield place.node
        return
    scope = place.source.scope_at(place.span.line)
    nodes = list(ast.walk(scope)) if scope is not None else []
    reads = [one for one in nodes if isinstance(one, ast.Name) and one.id == named and isinstance(one.ctx, ast.Load)]
    subject = place.node if named is None else reads[0] if len(reads) == 1 else None
    for one in nodes:
        of_pairs = isinstance(one, ast.Compare) and one.left is subject
        if isinstance(one, ast.Compare) and of_pairs and place.source.text(one.comparators[0]) in ("0", "0.0"):
            yield one


def _reductions(place: Place, compared: ast.Compare) -> Iterator[tuple[ast.expr, bool]]:
    """`(...).float().mean()` (True) and `(...).sum()` (False) around a comparison."""
    for one in place.source.nodes():
        inner = _receiver(one, ("mean", "sum"))
        inner = (_receiver(inner, ("float", "double", "int", "long")) or inner) if inner is not None else None
        if isinstance(one, ast.Call) and inner is compared:
            yield one, one.func.attr == "mean"  # type: ignore[attr-defined]


def _receiver(node: ast.AST, methods: tuple[str, ...]) -> ast.expr | None:
    """What one of some methods is called on, without arguments."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.args or node.keywords:
        return None
    return node.func.value if node.func.attr in methods else None


def _instead(pairs: Place, around: Place, new: str, named: bool) -> tuple[Edit, ...]:
    edits = changed(around.source, [(around.span, new)])
    return (*delete_statement(pairs), *edits) if named else edits
