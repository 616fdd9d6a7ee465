"""Candidates for a row of layers or transforms that lacks a step which follows the same step elsewhere."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Sequence

from explainer.bindings import last_name
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place
from explainer.source import called

_DIGITS = re.compile(r"\d+")
_SIZES = re.compile(r"equal size|must match the size of tensor|Sizes of tensors must match")


def step_missing(evidence: Evidence) -> Iterator[Candidate]:
    """`Row(conv1, Crop(n), relu1, conv2, relu2)` -> `... conv2, Crop(n), relu2`, as behind conv1.

    So in another row of the file, `Compose(Resize(n), Flip())` beside `Compose(Resize(n), CenterCrop(n))`.
    """
    rows = _rows(evidence) if _SIZES.search(evidence.message) else []
    for (place, own), (other, more) in itertools.product(rows, repeat=2):
        if _name(place.node) != _name(other.node) or place.source is not other.source:
            continue
        known = {_name(one) for one in own} if place.node is not other.node else set()
        for before, step in itertools.pairwise(more):
            if isinstance(step, ast.Call) and _name(step)[:1].isupper() and _name(step) not in known:
                for one in _without(own, before, step):
                    at = place.at(one)
                    new = f"{at.text}, {other.source.text(step)}"
                    yield from evidence.replaced(at, new, "replace", "rename", new=new, old=at.text)


def _without(row: Sequence[ast.expr], before: ast.expr, step: ast.expr) -> Iterator[ast.expr]:
    """The entries of a row that are like another one, which a step follows, and are followed by something else."""
    following = [*row[1:], None]
    for one, after in zip(row, following, strict=True):
        if one is not before and _name(one) == _name(before) and (after is None or _name(after) != _name(step)):
            yield one


def _rows(evidence: Evidence) -> list[tuple[Place, Sequence[ast.expr]]]:
    """The calls that are given nothing but steps, one by one or in a list."""
    calls = [(source, one) for source in evidence.sources_seen() for one in source.nodes() if isinstance(one, ast.Call)]
    return [(Place(source, one), _steps(one)) for source, one in calls if len(_steps(one)) > 1]


def _steps(node: ast.Call) -> Sequence[ast.expr]:
    given: list[ast.expr] = node.args if not node.keywords else []
    given = given[0].elts if len(given) == 1 and isinstance(given[0], ast.List) else given
    return given if any(isinstance(one, ast.Call) for one in given) else []


def _name(node: ast.AST) -> str:
    """What a step is called, its number left out: `conv` of `self.conv2`, `Crop` of `Crop(n)`."""
    return _DIGITS.sub("", called(node) if isinstance(node, ast.Call) else last_name(node))
