"""Candidates for operands that do not broadcast: sizes of one that are missing, or in another place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.calls import is_method
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.methods import insert_method
from explainer.edits.place import as_primary
from explainer.edits.search_batch import CREATORS, sizes_of
from explainer.edits.shapes import BROADCAST, broadcastable
from explainer.edits.slices import operands, trunk
from explainer.patterns import Pattern

#: Methods that take dimensions away.
REDUCTIONS = ("sum", "mean", "amax", "amin", "logsumexp", "prod", "norm", "std", "var")
#: The size of the first dimension, as a slice of a table is told.
_OF_FIRST = Pattern(r"\.size\(0\)|\.shape\[0\]")


def with_ones(evidence: Evidence) -> Iterator[Candidate]:
    """`torch.rand(n, 1)` -> `torch.rand(n, 1, 1, 1)`: one number for each sample of a batch of images."""
    crash, every = evidence.crash, operands(evidence)
    for small in every if crash is not None and crash.function in BROADCAST else ():
        for large in every:
            missing = len(large.shape) - len(small.shape)
            if missing < 1 or not broadcastable([*small.shape, *[1] * missing], large.shape):
                continue
            for step in trunk(evidence, small.start, 3):
                sizes = sizes_of(step.place) if step.place is not None and step.function in CREATORS else []
                if sizes and step.place is not None and len(sizes) == len(step.shape) == len(small.shape):
                    last = step.place.at(sizes[-1])
                    if isinstance(last.node, ast.Constant) and large.shape[1:].count(small.shape[-1]):  # one a channel
                        continue
                    words: dict[str, Any] = {"what": small.text, "other": large.text}
                    new = ", ".join([last.text, *["1"] * missing])
                    yield from evidence.replaced(last, new, "replace", "ones", step.place, **words)


def reduced_too(evidence: Evidence) -> Iterator[Candidate]:
    """`(x * kept).sum(dim=1) / kept` -> `/ kept.sum(dim=1)`: of the same positions, reduced on one side alone."""
    crash, every = evidence.crash, operands(evidence)
    for one in every if crash is not None and crash.function in BROADCAST else ():
        step = evidence.steps[one.start] if one.start is not None else None
        call = step.place.node if step is not None and step.place is not None else None
        if step is None or step.function not in REDUCTIONS or not isinstance(call, ast.Call) or not is_method(call):
            continue
        for other in every:
            same = broadcastable(step.before[0][0], other.shape) and len(other.shape) == len(step.before[0][0])
            place = other.place if same and other is not one and (call.args or call.keywords) else None
            if place is not None and step.place is not None:
                source = step.place.source
                method = source.text(call)[len(source.text(call.func)) - len(step.function) :]
                words: dict[str, Any] = {"what": other.text[:48], "method": method, "other": one.text[:48]}
                yield from evidence.made(
                    partial(insert_method, place, method), "insert-method", place, "reduced-too", **words
                )


def turned(evidence: Evidence) -> Iterator[Candidate]:
    """`self.pe[:n]` [n, 1, d] -> `.transpose(0, 1)` beside [batch, n, d]: a size of 1 that stands one place off.

    With `self.pe[: x.size(0)]` the sizes are those of another dimension as well: `x.size(1)` is meant.
    """
    crash, every = evidence.crash, operands(evidence)
    for one in every if crash is not None and crash.function in BROADCAST else ():
        others = [other for other in every if other is not one and len(other.shape) == len(one.shape)]
        for other in others if one.place is not None else ():
            fitting = [at for at in range(1, len(one.shape)) if _fits_turned(one.shape, other.shape, at)]
            if len(fitting) == 1:
                new = f"{as_primary(one.place)}.transpose(0, {fitting[0]})"  # type: ignore[arg-type]
                words: dict[str, Any] = {"what": one.text[:48], "at": fitting[0]}
                yield from evidence.replaced(one.place, new, "insert-method", "turned", **words)  # type: ignore[arg-type]
            elif one.place is not None and one.shape[1:2] == [1] and _OF_FIRST.search(one.text):
                new = f"{_OF_FIRST.sub(_second, one.text)}.transpose(0, 1)"
                words = {"what": one.text[:48], "at": 1}
                yield from evidence.replaced(one.place, new, "replace", "turned", **words)


def _second(found: re.Match[str]) -> str:
    return found[0].replace("0", "1")


def _fits_turned(shape: list[int], other: list[int], at: int) -> bool:
    """Whether a shape broadcasts to another once its size of 1 at `at` and its first size have changed places."""
    turned = [1, *shape[1:]]
    turned[at] = shape[0]
    return shape[at] == 1 < shape[0] and all(a in (1, b) for a, b in zip(turned, other, strict=True))
