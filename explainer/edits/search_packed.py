"""Candidates for what comes back shorter than it went in: padded sequences, signals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.arguments import set_argument
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Step
from explainer.edits.expressions import sized
from explainer.edits.place import Place

#: The argument that gives a function's result the length of what went in.
_LENGTHS = {"_pad_packed_sequence": "total_length", "pad_packed_sequence": "total_length", "istft": "length"}
_NAMES = ("pad_packed_sequence", "istft")


def full_length(evidence: Evidence) -> Iterator[Candidate]:
    """`pad_packed_sequence(out)` -> `total_length=x.shape[1]` where the failing call met the full length beside it."""
    said = set(evidence.said)
    for step in evidence.steps[1:]:
        place = step.place
        if step.function not in _LENGTHS or place is None or not re.search("|".join(_NAMES), place.text):
            continue
        for size in sorted(size for size in said if size > _length(step, said)):
            for text in _texts(evidence, place, size)[:2]:
                argument = _LENGTHS[step.function]
                words: dict[str, Any] = {"argument": f"{argument}={text}", "old": _length(step, said), "new": size}
                edits = partial(set_argument, place, argument, text)
                yield from evidence.made(edits, "add-argument", place, "full-length", **words)


def _length(step: Step, said: set[int]) -> int:
    """The size of what a step gave that the message names; the largest there can be where it names none."""
    return next((size for size in step.shape if size in said), 1 << 62)


def _texts(evidence: Evidence, place: Place, size: int) -> list[str]:
    """How the function of a place can name a length: the shape of a tensor that it has, then the number.

    Only a size that ids or sequences of vectors have in their first two dimensions is a length.
    """
    frame = evidence.frame_of(place)
    shaped = {text: value for text, value in frame.scope.items() if text.isidentifier()} if frame is not None else {}
    return [*sized(size, shaped), str(size)] if any(size in shape[:2] for shape in _sequences(evidence)) else []


def _sequences(evidence: Evidence) -> Iterator[list[int]]:
    """The shapes of what the recorded calls got that has steps: vectors in three dimensions, ids and masks in two."""
    given = [one for step in evidence.steps for one in step.before]
    yield from (shape for shape, dtype in given if len(shape) > 2 or (len(shape) == 2 and "float" not in dtype))
