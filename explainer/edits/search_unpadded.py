"""Candidates for arithmetic of sizes that goes through layers with their padding and leaves the padding out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place, fitted
from explainer.edits.sites import layers_hit
from explainer.patterns import Pattern
from explainer.source import loaded

_PADDING = Pattern(r"^(p|pad|pads|padding)$")


def with_padding(evidence: Evidence) -> Iterator[Candidate]:
    """`side = out(side, kernel)` -> `out(side + 2 * padding, kernel)`, in a loop that does not read its `padding`."""
    for source in evidence.sources_seen() if layers_hit(evidence) else ():
        for loop in (node for node in source.nodes() if isinstance(node, ast.For)):
            padding = _unread(loop)
            for size in _sizes(loop) if padding else ():
                place = Place(source, size)
                new = f"{size.id} + 2 * {padding}"
                yield from evidence.replaced(place, fitted(place, new), "replace", "padded-size", new=new)


def _unread(loop: ast.For) -> str:
    """The loop's name for a padding, where nothing in it reads it; "" else."""
    names = [one.id for one in ast.walk(loop.target) if isinstance(one, ast.Name)]
    read = set().union(*(loaded(one) for one in loop.body))
    return next((name for name in names if _PADDING.search(name) and name not in read), "")


def _sizes(loop: ast.For) -> Iterator[ast.Name]:
    """`side` in what `side = ...` computes anew from itself."""
    for node in loop.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(node, ast.Assign) and isinstance(target, ast.Name):
            read = [one for one in ast.walk(node.value) if isinstance(one, ast.Name) and one.id == target.id]
            yield from read if len(read) == 1 else []
