"""Candidates for joins: along another dimension, or along a new one in place of one that is there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.generators.slices import chain, operands
from explainer.edits.kinds.methods import replace_call

#: What joins along a dimension that is there, and what along a new one.
_OTHER = {"cat": "stack", "concat": "stack", "concatenate": "stack", "stack": "cat"}
#: How many steps behind each operand are looked at.
_STEPS = 8


def joined_otherwise(evidence: Evidence) -> Iterator[Candidate]:
    """`torch.stack(parts)` -> `torch.cat(parts)` and the reverse, for the failing call and those that led to it."""
    found = [step for one in operands(evidence) for step in chain(evidence, one.start, _STEPS)]
    for step in {id(step): step for step in [*evidence.steps[:1], *found]}.values():
        place, other = step.place, _OTHER.get(step.function)
        if place is None or other is None or not isinstance(place.node, ast.Call):
            continue
        edits = partial(replace_call, place, other if isinstance(place.node.func, ast.Attribute) else f"torch.{other}")
        yield from evidence.made(edits, "replace-call", place, "join-otherwise", new=other, old=step.function)
