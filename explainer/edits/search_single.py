"""Candidates for one sample that a model gets in place of a batch: a batch of one where it is handed over."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.search_layout import put_behind
from explainer.edits.sites import layers_hit
from explainer.edits.slices import editable

_FOLDS = ("flatten", "view", "reshape")


def batch_of_one(evidence: Evidence) -> Iterator[Candidate]:
    """`net(state)` -> `net(state.unsqueeze(0))`: what `flatten(1)` made rows of was one sample, [channels, h, w]."""
    rank = _rank_of_sample(evidence)
    for frame in reversed(evidence.frames) if rank else ():
        node = frame.place.node
        for one in node.args if isinstance(node, ast.Call) else ():
            shape, place = frame.shape(ast.unparse(one)), frame.place.at(one)
            if len(shape) == rank and editable(place):
                yield from put_behind(evidence, place, "unsqueeze(0)", shape)


def _rank_of_sample(evidence: Evidence) -> int:
    """How many dimensions a sample has whose maps, taken together, are what a linear layer reads; 0 where none is."""
    for layer, _ in layers_hit(evidence):
        for step in evidence.steps[1:8]:
            before = step.before[0][0] if step.before else []
            if step.function in _FOLDS and len(before) > 1 and layer.type == "Linear":
                whole = math.prod(before) == layer.value("in_features") and len(step.shape) == 2
                return len(before) if whole and step.shape[0] == before[0] else 0
    return 0
