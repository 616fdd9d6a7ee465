"""Candidates for densities of several dimensions that belong to one sample: `log_prob` not summed over them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Step
from explainer.edits.methods import insert_methods
from explainer.edits.place import Place
from explainer.edits.shapes import BROADCAST, SAME
from explainer.edits.slices import Operand, chain, operands
from explainer.source import called

#: What a torch distribution tells of each dimension; `gather` is how one over classes looks up its numbers.
_DENSITIES = ("log_prob", "entropy", "kl_divergence")
_OF_CLASSES = ("gather", "nll_loss", "cross_entropy")
_REDUCTIONS = ("sum", "mean", "logsumexp", "prod")


def summed(evidence: Evidence) -> Iterator[Candidate]:
    """`dist.log_prob(a)` [n, 6] -> `dist.log_prob(a).sum(-1)` beside [n]: all calls that lead to the failing one."""
    crash, every = evidence.crash, operands(evidence)
    for one in every if crash is not None and crash.function in (*BROADCAST, *SAME) else ():
        if any(one.shape[:-1] == other.shape and len(other.shape) > 0 for other in every):
            yield from _summed(evidence, one)


def _summed(evidence: Evidence, one: Operand) -> Iterator[Candidate]:
    steps = chain(evidence, one.start)
    found = _places(steps, one)
    if found and not any(_of_classes(evidence, place) for place in found) and not any(map(_reduced, found)):
        words: dict[str, Any] = {"what": found[0].text[:48], "method": ".sum(-1)", "shape": _shape(steps, found[0])}
        edits = partial(insert_methods, tuple(found), "sum(-1)")
        yield from evidence.made(edits, "insert-method", found[0], "insert", **words)


def _places(steps: list[Step], one: Operand) -> list[Place]:
    """The calls of a density on the way to an operand, each once, whose last size is the operand's."""
    found: dict[tuple[str, int, int | None], Place] = {}
    for step in steps:
        if step.place is None or not _is_density(step) or step.shape[-1:] != one.shape[-1:]:
            continue
        if len(step.shape) >= len(one.shape) - 1:
            span = step.place.span
            found.setdefault((span.file, span.line, span.column), step.place)
    return list(found.values())


def _is_density(step: Step) -> bool:
    """Whether a step was made inside torch's code of a density, which the program calls there."""
    node = step.place.node if step.place is not None else None
    return isinstance(node, ast.Call) and called(node) in _DENSITIES


def _of_classes(evidence: Evidence, place: Place) -> bool:
    """Whether a density is one over classes, which has one number for each of its samples or tokens already."""
    return any(step.function in _OF_CLASSES and step.place == place for step in evidence.steps)


def _reduced(place: Place) -> bool:
    """Whether the function reduces what a density gave, at once or by its name."""
    scope = place.source.function_at(place.span.line) or place.source.tree
    statement = place.statement().node
    names = {one.id for one in getattr(statement, "targets", []) if isinstance(one, ast.Name)}
    for node in ast.walk(scope) if scope is not None else ():
        if (
            not isinstance(node, ast.Call)
            or called(node) not in _REDUCTIONS
            or not isinstance(node.func, ast.Attribute)
        ):
            continue
        if node.func.value is place.node or getattr(node.func.value, "id", None) in names:
            return True
    return False


def _shape(steps: list[Step], place: Place) -> list[int]:
    return next((step.shape for step in steps if step.place == place), [])
