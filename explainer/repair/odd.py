"""The call at which a failing run first went another way than before: what it made is unlike the rest."""

from __future__ import annotations

from explainer.diagnosis import Label, Span
from explainer.edits.evidence import Evidence, Step
from explainer.edits.generators.slices import parting
from explainer.locale import word


def odd_step(evidence: Evidence) -> Step | None:
    """The call that made of operands as usual what it usually does not make; None where all is as usual."""
    parted = parting(evidence)
    if parted is not None and parted.before and parted.out:
        return parted
    odd = [step for step in evidence.steps[1:] if step.unlike is not None and step.place is not None]
    return odd[-1] if odd else None


def told(step: Step, language: str) -> tuple[Span, Label, str] | None:
    """Where such a call stands with what it made there, and what it made of other data, in words."""
    if step.place is None:
        return None
    values: dict[str, object] = {"text": f"`{step.place.short}`", "made": step.shape}
    if step.unlike is None:
        sentence = word("odd_parted", language, before=step.before[0][0], **values)
    else:
        sentence = word("odd_unlike", language, times=step.unlike.times, usual=step.unlike.shape, **values)
    span = step.place.span
    label = Label(span.file, span.line, word("odd_label", language, made=step.shape), span.column, span.end_column)
    return span, label, sentence
