"""Candidates for the lengths of CTC's inputs, measured before the network's strides made the sequences shorter."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from math import prod
from typing import Any

from explainer.edits.arguments import argument_node
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Step
from explainer.edits.lines import EditError
from explainer.edits.place import Place, as_primary
from explainer.edits.slices import operands, trunk
from explainer.frozen import frozen

_PARAMETERS = ("log_probs", "targets", "input_lengths", "target_lengths")


@frozen
class Stage:
    """A step that made a sequence `times` shorter: from `long` to `short` entries."""

    step: Step
    long: int
    short: int

    @property
    def times(self) -> int:
        """By how much it is shortened, as a whole number."""
        return round(self.long / self.short)


def strided(evidence: Evidence) -> Iterator[Candidate]:
    """`ctc(out, y, lens, n)` -> `(lens + 3) // 4` where two strides of 2 made the output shorter than the input."""
    crash, every = evidence.crash, operands(evidence)
    place = crash.place if crash is not None and crash.function == "ctc_loss" else None
    given = _given(place)
    if crash is None or place is None or given is None or "input_lengths" not in evidence.message:
        return
    steps = every[0].shape[0]
    stages = list(_stages(trunk(evidence, every[0].start), steps))
    if not stages:
        return
    words: dict[str, Any] = {"long": stages[-1].long, "short": steps, "what": ", ".join(_names(stages))}
    tensor = any(one.place is not None and one.place.node is given.node for one in every)
    text = _shortened(as_primary(given), stages) if tensor else None
    full = f"torch.full(({every[0].text}.size(1),), {every[0].text}.size(0))"
    for new in filter(None, (text, full if every[0].text.isidentifier() else None)):
        yield from evidence.replaced(given, new, "replace", "output-lengths", place, new=new, **words)


def _given(place: Place | None) -> Place | None:
    """The third argument of a call of the loss."""
    if place is None or not isinstance(place.node, ast.Call):
        return None
    try:
        node = argument_node(place, "input_lengths", _PARAMETERS)
    except EditError:
        return None
    return place.at(node) if node is not None else None


def _stages(steps: list[Step], short: int) -> Iterator[Stage]:
    """The steps that shortened the sequence, the last first, followed back by its length."""
    for step in steps:
        before, after = step.before[0][0] if step.before else [], step.shape
        if len(before) != len(after):
            continue
        longer = [b for b, a in zip(before, after, strict=True) if a == short and b >= 2 * a - 1 and b > a > 1]
        if len(longer) == 1:
            yield Stage(step, longer[0], short)
            short = longer[0]


def _names(stages: list[Stage]) -> Iterator[str]:
    """Where the strides stand: the lines of the layers that have them, the first of the network first."""
    for stage in reversed(stages):
        layer = stage.step.layer
        calls = layer.calls if layer is not None else ()
        place = calls[0].place if calls else stage.step.place
        if place is not None:
            kind = layer.type if layer is not None else stage.step.function
            yield f"{kind} ({os.path.basename(place.span.file)}:{place.span.line})"


def _shortened(text: str, stages: list[Stage]) -> str | None:
    """The lengths behind all stages; None where a stage rounds in another way than by its stride alone."""
    whole = prod(stage.times for stage in stages)
    if all(-(-stage.long // stage.times) == stage.short for stage in stages):
        return f"({text} + {whole - 1}) // {whole}"
    if all(stage.long // stage.times == stage.short for stage in stages):
        return f"{text} // {whole}"
    for stage in reversed(stages):
        rest = _offset(stage)
        if rest is None:
            return None
        text = f"(({text} - {rest}) // {stage.times} + 1)" if rest > 0 else f"(({text} + {-rest}) // {stage.times} + 1)"
    return text[1:-1]


def _offset(stage: Stage) -> int | None:
    """What a convolution takes off a length before it is divided, if that gives the length that came out."""
    layer = stage.step.layer
    kernel, padding = (layer.value("kernel_size"), layer.value("padding") or 0) if layer is not None else (None, 0)
    if layer is None or kernel is None:
        return None
    rest = (layer.value("dilation") or 1) * (kernel - 1) + 1 - 2 * padding
    return rest if (stage.long - rest) // stage.times + 1 == stage.short else None
