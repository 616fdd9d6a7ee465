"""Candidates for sequences that are cut to a length before special tokens are put around them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place, as_primary, bound_above

#: More than so many tokens around a sequence are another one.
_MOST = 4


def room_left(evidence: Evidence) -> Iterator[Candidate]:
    """`ids = ids[:most]`, then `[CLS] + ids + [SEP]` -> `ids[:most - 2]`, where as many positions too many arrive."""
    surplus = _surplus(evidence)
    for source in evidence.sources_seen() if surplus else ():
        for node in source.nodes():
            rest, added = _joined(node)
            cut = _cut(Place(source, rest)) if rest is not None and added in surplus else None
            if cut is not None:
                yield from _less(evidence, cut, added)


def _surplus(evidence: Evidence) -> set[int]:
    """By how much an index passes its table, or one size another that the message names."""
    crash, found = evidence.crash, set()
    if crash is not None and crash.function == "embedding":
        rows = [shape[0] for shape, dtype in crash.before if "float" in dtype]
        found = {one[1] + 1 - rows[0] for one in crash.extents if one is not None and rows}
    found |= {a - b for a in evidence.said for b in evidence.said}
    return {one for one in found if 0 < one <= _MOST}


def _joined(node: ast.AST) -> tuple[ast.expr | None, int]:
    """What lists of single elements are put around, and how many they are: `[CLS] + ids + [SEP]`, `[CLS, *ids]`."""
    if isinstance(node, ast.List):
        stars = [one.value for one in node.elts if isinstance(one, ast.Starred)]
        return (stars[0] if len(stars) == 1 else None), len(node.elts) - 1
    terms = _terms(node)
    lists = [one for one in terms if isinstance(one, ast.List)]
    others = [one for one in terms if one not in lists]
    return (others[0] if len(others) == 1 else None), sum(len(one.elts) for one in lists)


def _terms(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*(_terms(node.left) or [node.left]), node.right]
    return []


def _cut(place: Place) -> Place | None:
    """The end of the slice that something was cut by, there or where its name was bound: `most` of `ids[:most]`."""
    node: ast.AST = place.node
    if isinstance(node, ast.Name):
        bound = bound_above(place.source.scope_at(node.lineno), node.id, node.lineno)
        node = bound.value if bound is not None else node
    part = node.slice if isinstance(node, ast.Subscript) else None
    if not isinstance(part, ast.Slice) or part.upper is None or part.lower is not None or part.step is not None:
        return None
    return place.at(part.upper)


def _less(evidence: Evidence, end: Place, added: int) -> Iterator[Candidate]:
    constant = isinstance(end.node, ast.Constant) and isinstance(end.node.value, int)
    new = str(end.node.value - added) if constant else f"{as_primary(end)} - {added}"  # type: ignore[union-attr,operator]
    if not new.startswith("-"):
        yield from evidence.replaced(end, new, "replace", "room-left", new=f":{new}", added=added)
