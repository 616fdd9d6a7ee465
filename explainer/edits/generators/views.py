"""Candidates for two views of each sample compared in one matrix, where the targets count the samples of one view."""

from __future__ import annotations

from explainer.edits.evidence import Evidence, Step
from explainer.edits.generators.slices import chain, operands

_PRODUCTS = ("matmul", "mm", "__matmul__", "cosine_similarity", "einsum", "cdist")
_JOINS = ("cat", "concat", "concatenate", "vstack")


def views_joined(evidence: Evidence) -> Step | None:
    """The join of two batches of which a loss gets the square of all rows with all, and targets for half of them."""
    every, crash = operands(evidence), evidence.crash
    if crash is None or crash.function not in ("cross_entropy", "nll_loss") or len(every) < 2:
        return None
    scores, count = every[0].shape, every[1].shape
    if len(count) != 1 or scores != [2 * count[0], 2 * count[0]] or _product(evidence) is None:
        return None
    return next((one for one in chain(evidence, every[0].start) if _joins(one, count[0])), None)


def _product(evidence: Evidence) -> Step | None:
    scores = operands(evidence)[0]
    steps = chain(evidence, scores.start)
    return next((one for one in steps if one.function in _PRODUCTS and one.shape == scores.shape), None)


def _joins(step: Step, count: int) -> bool:
    sizes = [shape[0] for shape, _ in step.before if shape]
    return step.function in _JOINS and sizes == [count, count] and step.shape[:1] == [2 * count]
