"""Where the objects were made through whose methods samples came, and how many samples a dataset says it has."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.edits.generators.slices import parting
from explainer.edits.place import Place
from explainer.source import Source, called

#: How many steps are looked at, and how many calls that make an object of one class.
_STEPS, _CALLS = 30, 4


def makers(evidence: Evidence) -> Iterator[tuple[Place, str, int]]:
    """Places with their roles and distances: `returned` by a `__len__`, or an object `made` in a row of others.

    The object comes first in whose method samples of one size became different.
    """
    for distance, (source, owner) in enumerate(_owners(evidence), 1):
        for length in (one for one in owner.body if getattr(one, "name", "") == "__len__"):
            values = [one.value for one in ast.walk(length) if isinstance(one, ast.Return)]
            yield from ((Place(source, one), "returned", distance) for one in values if one is not None)
        for place in _made(evidence, owner.name):
            yield place, "made", distance


def _owners(evidence: Evidence) -> list[tuple[Source, ast.ClassDef]]:
    """The classes in whose methods the samples were made, the nearest first."""
    parted = parting(evidence)
    steps = [*([parted] if parted is not None else []), *evidence.steps[1:_STEPS]]
    found: dict[int, tuple[Source, ast.ClassDef]] = {}
    for place in (place for step in steps for place in step.places):
        owner = place.source.class_at(place.span.line)
        if owner is not None:
            found.setdefault(id(owner), (place.source, owner))
    return list(found.values())


def _made(evidence: Evidence, name: str) -> list[Place]:
    """The rows of objects, or the calls, in which objects of a class are made."""
    found = []
    for source in evidence.sources_seen():
        for node in source.nodes():
            if isinstance(node, ast.Call) and called(node) == name:
                found.append(Place(source, _row(source, node)))
    return found[:_CALLS]


def _row(source: Source, node: ast.expr) -> ast.expr:
    """The list or call in which an object stands beside others."""
    parent = source.parent_of(node)
    beside = parent.elts if isinstance(parent, (ast.List, ast.Tuple)) else getattr(parent, "args", [])
    row = isinstance(parent, ast.expr) and sum(isinstance(one, ast.Call) for one in beside) > 1
    return parent if row and isinstance(parent, ast.expr) else node
