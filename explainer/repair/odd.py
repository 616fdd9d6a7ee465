"""The call at which a failing run first went another way than before: what it made is unlike the rest."""

from __future__ import annotations

from explainer.diagnosis import Label, Span
from explainer.edits.evidence import Evidence, Step
from explainer.edits.generators.slices import parting
from explainer.edits.place import Place
from explainer.locale import word
from explainer.replay.recorders.taint import leaves


def odd_step(evidence: Evidence) -> Step | None:
    """The call that made of operands as usual what it usually does not make; None where all is as usual."""
    parted = parting(evidence)
    if parted is not None and parted.before and parted.out:
        return parted
    odd = [step for step in evidence.steps[1:] if step.unlike is not None and step.place is not None]
    return odd[-1] if odd else None


def counted(evidence: Evidence) -> Place | None:
    """The number by which what failed was made so large, where it was read from data.

    `n = int(edges.max()) + 1` counts the nodes up to the last one that has an edge, which need not be all.
    """
    for step in evidence.steps[1:]:
        for tree in step.numbers:
            at = evidence.place(tree[-2]) if tree[0] == "op" and tree[-1] in evidence.said else None
            if at is not None and any(one[0] == "const" for one in leaves(tree)):
                return at
    return None


def of_count(place: Place, language: str) -> tuple[Span, Label, str]:
    """Such a number's place, what is said there, and in a sentence."""
    span, text = place.span, f"`{place.short}`"
    label = Label(span.file, span.line, word("odd_counts", language), span.column, span.end_column)
    return span, label, word("odd_counted", language, text=text)


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
