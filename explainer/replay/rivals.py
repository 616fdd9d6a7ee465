"""Other edits that would do as well as a survivor: with one, it is in doubt, or proves nothing."""

from __future__ import annotations

import dataclasses
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.oracle.alignments import alignments, other_alignments, other_places
from explainer.oracle.judge import Judgement
from explainer.oracle.turns import turned_at
from explainer.replay.outcomes import passes
from explainer.replay.program import Run
from explainer.replay.trial import Verdict


def with_ties(checker: Any, held: list[Verdict]) -> list[Verdict]:
    """Survivors; the first is in doubt where the program runs as well with its dimensions aligned otherwise."""
    first = held[0] if held and not held[0].judgement.doubts else None
    if first is None or not alignments(first.candidate.edits):
        return held
    alike = [one for one in held if alignments(one.candidate.edits)]
    others = [one for one in alike[1:] if other_places(first.candidate.edits, one.candidate.edits)]
    others = [one for one in others if _as_well(checker, one, first)]
    others = others or _otherwise_aligned(checker, first, checker.control())
    if not others:
        return held
    tied = [dataclasses.replace(one, judgement=Judgement(doubts=("tied",))) for one in (first, *others[:1], *alike)]
    rest = [one for one in held if one not in alike]
    return [*rest, *{one.candidate.edits: one for one in tied}.values()]


def _otherwise_aligned(checker: Any, first: Verdict, control: Run) -> list[Verdict]:
    """What runs as well as a survivor and aligns its dimensions otherwise: the first found."""
    for edits, old, new in other_alignments(first.candidate.edits):
        other = dataclasses.replace(first.candidate, edits=edits, title=first.candidate.title.replace(old, new))
        run = checker.tried_with(other, control)
        if run is not None and passes(run, control):
            verdict = checker.passed(other, run, control, Judgement())
            if _as_well(checker, verdict, first):
                return [verdict]
    return []


def _as_well(checker: Any, other: Verdict, first: Verdict) -> bool:
    """Whether with another edit nothing more is warned of, and the models do not hand back the very same values."""
    runs = [checker.tried_with(one.candidate, checker.control()) for one in (other, first)]
    if None in runs:
        return True
    warned, plain = (set(run.answer.get("warnings", ())) for run in runs)
    made = [[one.get("made") for one in (run.answer.get("seen") or {}).get("models", ())] for run in runs]
    same = made[0] == made[1] and any(made[0])
    return not (warned - plain or same)


def fits_turned(checker: Any, candidate: Candidate) -> bool:
    """Whether the program runs as well without an edit, where a tensor of the failing call is turned around."""
    control, frame = checker.control(), checker.scene.crash.user_frame
    source = checker.scene.source(frame.file) if frame is not None else None
    if source is None or control is None:
        return False
    for edit in turned_at(source, frame.line):
        run = checker.tried_with(dataclasses.replace(candidate, edits=(edit,)), control)
        if run is not None and passes(run, control):
            return True
    return False
