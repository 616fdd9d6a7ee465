"""Candidates for views that fix or fold the batch dimension: `view(32, -1)`, `view(-1, 400)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Step
from explainer.edits.expressions import product
from explainer.edits.lines import changed
from explainer.edits.place import Place
from explainer.edits.sites import Site, sites


def reshaped(evidence: Evidence) -> Iterator[Candidate]:
    """`view(32, -1)` -> `view(x.size(0), -1)`; `view(-1, 400)` behind the failure too, with the layer that follows."""
    crash = evidence.crash
    if crash is None:
        return
    for step in evidence.steps[:20]:
        if step.function in ("view", "reshape") and step.place is not None and isinstance(step.place.node, ast.Call):
            yield from _batch_kept(evidence, step, step is crash)


def _batch_kept(evidence: Evidence, step: Step, failing: bool) -> Iterator[Candidate]:
    node = step.place.node  # type: ignore[union-attr]
    given = list(node.args)
    offset = 0 if isinstance(node.func, ast.Attribute) and not _is_module(node.func.value) else 1
    if len(given) == offset + 1 and isinstance(given[offset], (ast.Tuple, ast.List)):
        sizes = given[offset].elts
    else:
        sizes = given[offset:]
    owner = node.func.value if offset == 0 else (given[0] if given else None)
    before = step.before[0][0] if step.before else []
    if owner is None or len(sizes) < 2 or not before or not isinstance(owner, ast.Name):
        return
    batch = f"{owner.id}.size(0)"
    yield from _sizes_replaced(evidence, step, sizes, batch, before, failing)


def _sizes_replaced(
    evidence: Evidence, step: Step, sizes: list, batch: str, before: list[int], failing: bool
) -> Iterator[Candidate]:
    place = step.place
    if place is None or place.source.text(sizes[0]) == batch:
        return
    rest = sizes[1:]
    folds = isinstance(sizes[0], ast.UnaryOp)
    changes = [(place.source.span(sizes[0]), batch)]
    old = place.source.text(sizes[0])
    if failing and not folds:
        edits = partial(changed, place.source, changes)
        yield from evidence.made(edits, "replace", place, "batch-size", new=batch, old=old)
    if len(rest) == 1 and len(before) > 1:
        features = 1
        for size in before[1:]:
            features *= size
        flat = [*changes, (place.source.span(rest[0]), "-1")]
        edits = partial(changed, place.source, flat)
        yield from evidence.made(edits, "replace", place, "batch-size", new=batch, old=old)
        yield from _with_layer(evidence, place, flat, batch, product(before[1:]), features)


def _with_layer(
    evidence: Evidence, place: Place, changes: list, batch: str, sizes: str, features: int
) -> Iterator[Candidate]:
    """The view put right together with the linear layer that reads it."""
    for layer in evidence.layers_around():
        if layer.type != "Linear" or layer.value("in_features") == features:
            continue
        for site in sites(evidence, layer, "in_features"):
            edits = partial(_both, place, changes, site, sizes)
            yield from evidence.made(edits, "replace", place, "keep-batch", new=f"{batch}, -1", value=sizes)


def _both(place: Place, changes: list, site: Site, sizes: str) -> tuple:
    if site.place.source.file == place.source.file:
        return changed(place.source, [*changes, (site.place.span, sizes)])
    return (*changed(place.source, changes), *changed(site.place.source, [(site.place.span, sizes)]))


def _is_module(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in ("torch", "F")
