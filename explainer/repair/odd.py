"""The call at which a failing run first went another way than before: what it made is unlike the rest."""

from __future__ import annotations

import ast

from explainer.diagnosis import Label, Span
from explainer.edits.evidence import Evidence, Step
from explainer.edits.generators.slices import parting
from explainer.edits.place import Place
from explainer.locale import word
from explainer.replay.recorders.taint import leaves
from explainer.source import called, walked

#: What reads a number of values.
_READING = ("max", "amax", "min", "amin", "argmax", "item", "int", "unique", "nunique", "count_nonzero", "len", "set")


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
            if at is not None and _reads_data(at) and any(one[0] == "const" for one in leaves(tree)):
                return at
    return None


def _reads_data(place: Place) -> bool:
    """Whether a number is read of values there: one that a loop counts, or `self.size += 1`, is not."""
    return any(isinstance(one, ast.Call) and called(one) in _READING for one in walked(place.node))


def odd(evidence: Evidence, language: str) -> tuple[Span, Label, str] | None:
    """Where a run went another way than before, or counted from data: the place, what to write there, a sentence."""
    step = odd_step(evidence)
    if step is not None and step.place is not None:
        return _placed(step.place, word("odd_label", language, made=step.shape), _told(step, step.place, language))
    place = counted(evidence)
    if place is None:
        return None
    return _placed(place, word("odd_counts", language), word("odd_counted", language, text=f"`{place.short}`"))


def _told(step: Step, place: Place, language: str) -> str:
    """What such a call made this time and the other times, in words."""
    values: dict[str, object] = {"text": f"`{place.short}`", "made": step.shape}
    if step.unlike is None:
        return word("odd_parted", language, before=step.before[0][0], **values)
    return word("odd_unlike", language, times=step.unlike.times, usual=step.unlike.shape, **values)


def _placed(place: Place, label: str, sentence: str) -> tuple[Span, Label, str]:
    span = place.span
    return span, Label(span.file, span.line, label, span.column, span.end_column), sentence
