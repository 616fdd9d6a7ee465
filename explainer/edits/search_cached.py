"""Candidates for masks of the new tokens alone, where the scores go over the keys of earlier calls too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Call, Evidence, Step
from explainer.edits.slices import chain, operands

#: Calls that make a mask of queries by keys, with what stands there for a key that may be seen.
_SEEN = {"triu": "0", "tril": "1", "full": "0"}


def over_cached(evidence: Evidence) -> Iterator[Candidate]:
    """`mask = torch.triu(mask, 1)` -> `pad(torch.triu(mask, 1), (start, 0))`: scores [t, start + t], a mask [t, t]."""
    every = operands(evidence)
    for scores, mask in ((one, two) for one in every for two in every if one is not two):
        size, more = mask.shape[-1:], _more(scores.shape, mask.shape)
        made = next((step for step in chain(evidence, mask.start, 6) if _makes(step, size)), None) if more else None
        frame = evidence.frame_of(made.place) if made is not None and made.place is not None else None
        if frame is None or made is None or made.place is None:
            continue
        for name in _names(frame, more)[:2]:
            new = f"torch.nn.functional.pad({made.place.text}, ({name}, 0), value={_SEEN[made.function]})"
            words: dict[str, Any] = {"what": mask.text or "mask", "size": size[0], "more": more, "name": name}
            yield from evidence.replaced(made.place, new, "wrap-call", "mask-over-cached", **words)


def _more(scores: list[int], mask: list[int]) -> int:
    """How many keys more than the square mask has the scores go over; 0 where that is not what differs."""
    square = len(mask) >= 2 and len(scores) >= 2 and mask[-1] == mask[-2] == scores[-2] > 1
    return max(scores[-1] - mask[-1], 0) if square else 0


def _makes(step: Step, size: list[int]) -> bool:
    return step.function in _SEEN and step.shape == size * 2 and step.place is not None


def _names(frame: Call, count: int) -> list[str]:
    """What a function calls a number of earlier tokens: a name, or the size of what is kept of them."""
    plain = [name for name, value in frame.scope.items() if value == count and name.isidentifier()]
    shapes = [(name, frame.shape(name)) for name in frame.scope if name.isidentifier()]
    kept = [f"{name}.size({shape.index(count)})" for name, shape in shapes if len(shape) > 2 and count in shape]
    return plain + kept
