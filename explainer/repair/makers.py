"""Where the objects were made through whose methods samples came, and how many samples a dataset says it has."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.edits.generators.slices import parting
from explainer.edits.place import Place
from explainer.source import Source, called, walked

_Owner = ast.ClassDef | ast.FunctionDef
#: What draws a place at random.
_DRAWS = ("randint", "randrange")
#: How many steps are looked at, and how many calls that make an object of one class.
_STEPS, _CALLS = 30, 4


def makers(evidence: Evidence) -> Iterator[tuple[Place, str, int]]:
    """Places with their roles and distances: `returned` by a `__len__`, or an object `made` in a row of others.

    The object comes first in whose method samples of one size became different; functions stand for themselves.
    """
    for distance, (source, owner) in enumerate(_owners(evidence), 1):
        yield from ((one, "returned", distance) for one in _length(source, owner))
        for node in walked(owner):
            if isinstance(node, ast.Call) and called(node) == "range":
                yield from ((Place(source, one), "returned", distance) for one in node.args[:2])
            elif isinstance(node, ast.Call) and called(node) in _DRAWS:
                yield Place(source, node), "returned", distance
        for place in _made(evidence, owner):
            yield place, "made", distance


def lengths(evidence: Evidence) -> Iterator[Place]:
    """What `__len__` hands back in the classes in whose `__getitem__` the program failed: it may promise too many."""
    for frame in reversed(evidence.frames):
        source = frame.place.source
        owner = source.class_at(frame.place.line) if frame.function == "__getitem__" else None
        if owner is not None:
            yield from _length(source, owner)


def _length(source: Source, owner: _Owner) -> Iterator[Place]:
    for length in (one for one in owner.body if getattr(one, "name", "") == "__len__"):
        values = [one.value for one in walked(length) if isinstance(one, ast.Return)]
        yield from (Place(source, one) for one in values if one is not None)


def _owners(evidence: Evidence) -> list[tuple[Source, _Owner]]:
    """The classes in whose methods the samples were made, and other functions, the nearest first."""
    parted = parting(evidence)
    steps = [*([parted] if parted is not None else []), *evidence.steps[1:_STEPS]]
    found: dict[int, tuple[Source, _Owner]] = {}
    for place in (place for step in steps for place in step.places):
        source, line = place.source, place.line
        owner = source.class_at(line) or source.function_at(line)
        if isinstance(owner, (ast.ClassDef, ast.FunctionDef)):
            found.setdefault(id(owner), (source, owner))
    return list(found.values())


def _made(evidence: Evidence, owner: _Owner) -> list[Place]:
    """The rows in which objects of a class are made beside others, or a function stands beside others."""
    found = []
    for source in evidence.sources_seen():
        for node in source.nodes():
            made = isinstance(owner, ast.ClassDef) and isinstance(node, ast.Call) and called(node) == owner.name
            named = isinstance(owner, ast.FunctionDef) and isinstance(node, ast.Name) and node.id == owner.name
            row = _row(source, node) if isinstance(node, ast.expr) and (made or named) else None
            found += [Place(source, row)] if row is not None else []
    return found[:_CALLS]


def _row(source: Source, node: ast.expr) -> ast.expr | None:
    """The list, or call of a class, in which an object or function stands beside others."""
    parent = source.parent_of(node)
    listed = isinstance(parent, (ast.List, ast.Tuple)) or (
        isinstance(parent, ast.Call) and called(parent)[:1].isupper()
    )
    beside = getattr(parent, "elts", None) or getattr(parent, "args", [])
    row = listed and node in beside and sum(type(one) is type(node) for one in beside) > 1
    return parent if row and isinstance(parent, ast.expr) else None
