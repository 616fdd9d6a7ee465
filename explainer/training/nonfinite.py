"""A loss that stays nan or inf: the program runs once more, checked before each backward; rules of crashes tell it."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from typing import Any

from explainer.diagnosis import Diagnosis, Edit
from explainer.frozen import replace
from explainer.locale import word
from explainer.source import called
from explainer.training.finding import Attempt, Finding
from explainer.training.rewrite import changed_at
from explainer.training.sites import Frame
from explainer.training.trials import Trials
from explainer.transfer import received

#: What is asked of a loss, in front of its backward.
_CHECK = 'assert ({loss}).isfinite().all(), "the loss is not finite"; '
#: Rules that only tell of weights which a training has blown up: what watching tells better, by its rates.
_LATE = ("nan-training-diverged", "nan-in-weights-already")


def spoilt(notes: Any) -> int | None:
    """Which loss was the first of those that are not finite, up to the last of its backward; None where that is."""
    site = notes.loss_sites[-1] if notes.loss_sites else None
    own = [at for at, one in enumerate(notes.loss_sites) if one == site]
    bad = [at for at in own if not math.isfinite(notes.losses[at])]
    return bad[0] if bad and own[own.index(bad[0]) :] == bad else None


def since(notes: Any, language: str) -> list[str]:
    """The line that says since when losses are not finite; none where they are."""
    first = spoilt(notes)
    if first is None:
        return []
    return [word("watch_nonfinite", language, first=first + 1, count=len(notes.losses))]


def nonfinite(watcher: Any, trials: Trials, language: str) -> Finding | None:
    """What made a loss nan or inf for good; None where all losses are finite, or where a rate may have done it."""
    notes = watcher.notes
    first = spoilt(notes)
    site = list(notes.backwards.values())[notes.loss_sites[first]] if first is not None else ()
    checked = _checked(site[0]) if site else None
    report = trials.explained(checked[0], language) if checked is not None else None
    best = received(report).diagnoses[:1] if report and report["diagnoses"] else ()
    if first is None or checked is None or not best or not _tells(best[0]):
        return None
    found = replace(best[0], cause=" ".join([*since(notes, language), best[0].cause]))
    return Finding(
        found.rule, {}, found.culprit, _attempts(found, checked[1]), labels=found.labels,
        proved=found.certainty == "proved", seen=True, told=found,
    )  # fmt: skip


def _tells(one: Diagnosis) -> bool:
    return one.family == "nan" and one.specific and one.rule not in _LATE


def _checked(frame: Frame) -> tuple[tuple[Edit, ...], str] | None:
    """The edit that puts the check in front of a backward, on its line, and the check's text."""
    source = frame.source()
    calls = [one for one in source.nodes() if isinstance(one, ast.Call) and called(one) == "backward"]
    near = [one for one in calls if one.lineno <= frame.line <= (one.end_lineno or one.lineno)]
    if len(near) != 1 or not isinstance(source.parent_of(near[0]), ast.Expr):
        return None
    call = near[0]
    loss = source.text(call.args[0] if call.args else call.func.value)  # type: ignore[attr-defined]
    check = _CHECK.format(loss=loss)
    edits = changed_at(source, source.span(call), check + source.text(call))
    return (edits, check) if edits else None


def _attempts(found: Diagnosis, check: str) -> tuple[Attempt, ...]:
    """The edits of a diagnosis, as the program is without the check."""
    rows = [(fix.title, tuple(_without(edit, check) for edit in fix.edits)) for fix in found.fixes if fix.edits]
    return tuple(Attempt(title, edits) for title, edits in rows)


def _without(edit: Edit, check: str) -> Edit:
    texts: Mapping[str, str | None] = {"before": edit.before, "after": edit.after}
    return replace(edit, **{name: text and text.replace(check, "") for name, text in texts.items()})
