"""Candidates for positions chosen along with the rows that were kept, which still count all rows: edges, faces."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Step
from explainer.edits.lines import changed
from explainer.edits.place import Place, as_primary
from explainer.edits.search_beside import Rows, beyond, cuts
from explainer.edits.search_ids import places_among
from explainer.edits.slices import chain, operands


def among_kept(evidence: Evidence) -> Iterator[Candidate]:
    """`Graph(x[keep], edges[:, inner])` -> `(keep.cumsum(0) - 1)[edges[:, inner]]`, with `inner` made of `keep`."""
    looked_up = [one for one in operands(evidence)[1:] if one.dtype == "int64"]
    for rows in cuts(evidence):
        if not rows.index.isidentifier() or not beyond(evidence, rows):
            continue
        for step in (step for one in looked_up for step in chain(evidence, one.start)):
            place = step.place
            if place is not None and _chosen_by(evidence, step, rows):
                yield from _renumbered(evidence, place, rows)


def _renumbered(evidence: Evidence, place: Place, rows: Rows) -> Iterator[Candidate]:
    node: Any = place.node
    changes = [(one.span, _numbered(as_primary(one), rows)) for one in [place, *_alike(place, rows)]]
    words: dict[str, Any] = {"what": place.source.text(node.value)[:48], "new": changes[0][1][:60]}
    edits = partial(changed, place.source, changes)
    yield from evidence.made(edits, "replace", place, "renumber-too", **words)


def _alike(place: Place, rows: Rows) -> Iterator[Place]:
    """The other positions in the function that are chosen alike: `edges["to"][ok]` beside `edges["from"][ok]`."""
    nodes: list[ast.AST] = [*ast.walk(place.source.scope_at(place.span.line))]
    given = {ast.unparse(one) for node in nodes for one in _asked(node, rows)}
    own: Any = place.node
    index = ast.unparse(own.slice)
    read = (one for one in nodes if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Load))
    for node in (one for one in read if one is not place.node and ast.unparse(one.value) in given):
        if ast.unparse(node.slice) == index:
            yield place.at(node)


def _numbered(text: str, rows: Rows) -> str:
    """Positions of all rows, counted among those that were kept."""
    return rows.counted(text) if rows.mask else places_among(text, rows.index)


def _chosen_by(evidence: Evidence, step: Step, rows: Rows) -> bool:
    """Whether a step takes some entries by a mask that was made, in the same function, of the rows to keep."""
    place, masked = step.place, len(step.before) > 1 and step.before[1][1] == "bool"
    if place is None or not masked or not isinstance(place.node, ast.Subscript) or not _beside(place, rows):
        return False
    return any(
        one.place is not None and _beside(one.place, rows) and _asked(one.place.node, rows)
        for one in chain(evidence, step.inputs[1])
    )


def _beside(place: Place, rows: Rows) -> bool:
    source = rows.place.source
    here, there = source.scope_at(rows.place.span.line), source.scope_at(place.span.line)
    return place.source.file == source.file and here is there


def _asked(node: ast.AST, rows: Rows) -> list[ast.expr]:
    """The positions of which an expression says whether their rows are kept: `keep[src]`, `isin(src, kept)`."""
    if rows.mask:
        return [node.slice] if isinstance(node, ast.Subscript) and ast.unparse(node.value) == rows.index else []
    if not isinstance(node, ast.Call) or not ast.unparse(node.func).endswith("isin"):
        return []
    return node.args[:1] if rows.index in [ast.unparse(one) for one in node.args[1:]] else []
