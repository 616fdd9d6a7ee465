"""Candidates for a tensor created with too few dimensions to broadcast: sizes of one behind those that it has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.search_batch import CREATORS, sizes_of
from explainer.edits.shapes import BROADCAST, broadcastable
from explainer.edits.slices import operands, trunk


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
                    words: dict[str, Any] = {"what": small.text, "other": large.text}
                    new = ", ".join([last.text, *["1"] * missing])
                    yield from evidence.replaced(last, new, "replace", "ones", step.place, **words)
