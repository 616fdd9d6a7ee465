"""A finding as a diagnosis: the rule's words with the finding's numbers, the fixes with what was run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from explainer.catalogue import Rule, load
from explainer.catalogue.words import WordsError, in_language, words
from explainer.diagnosis import Certainty, Diagnosis, Fix, Report, Span
from explainer.edits.lines import shown
from explainer.locale import word
from explainer.source import source_of
from explainer.training.finding import Attempt, Finding
from explainer.training.judge import FIT, Compared
from explainer.training.trials import Tried

#: Lines of context that a report carries around each place it points at.
_CONTEXT = 3


def diagnosis_of(finding: Finding, tried: Sequence[Tried], language: str) -> Diagnosis | None:
    """The diagnosis; None where the rule's words cannot be made."""
    rule = load().rules.get(finding.rule)
    held = [one for one in tried if one.compared.better and one.gone and one.seeds == one.of]
    text = _words(finding, rule, held, language) if rule is not None else None
    if rule is None or text is None:
        return None
    fixes = _fixes(finding, rule.fixes if finding.told is None else (), tried, held, language)
    if finding.told is not None and not fixes:
        fixes = [fix for fix in finding.told.fixes if not fix.edits]
    culprit = held[0].attempt.culprit if held and held[0].attempt.culprit else finding.culprit
    return Diagnosis(
        rule.id,
        "training",
        *text,
        _certainty(finding, held),
        culprit=_relative(culprit),
        fixes=tuple(fixes),
        labels=tuple(replace(label, file=shown(label.file)) for label in finding.labels),
        links=rule.links,
    )


def _words(finding: Finding, rule: Rule, held: Sequence[Tried], language: str) -> tuple[str, str] | None:
    """Headline and cause: the finding's own words, or the rule's with the numbers of what held first."""
    if finding.told is not None:
        return finding.told.headline, finding.told.cause
    names = {"f": {**finding.names, **(held[0].attempt.names if held else {})}}
    try:
        headline, cause = (words(in_language(rule.text[part], language), names) for part in ("headline", "why"))
    except WordsError:
        return None
    return headline, cause


def _certainty(finding: Finding, held: Sequence[Tried]) -> Certainty:
    if finding.proved or (held and finding.seen):
        return "proved"
    told = finding.told is not None and finding.told.certainty != "possible"
    return "likely" if told or (held and not finding.searched) else "possible"


def _fixes(
    finding: Finding, titles: Sequence[Mapping[str, Any]], tried: Sequence[Tried], held: Sequence[Tried], language: str
) -> list[Fix]:
    """The fixes that a trial confirmed, best first; without any, those that were not refuted, as suggestions."""
    texts = {str(one["id"]): one["title"] for one in titles}
    fixes = []
    for one in held:
        title = _title(texts, one.attempt, finding, language)
        if finding.searched:
            fixes.append(Fix(f"{title}: {said(one, language)}", "suggestion", None, one.attempt.edits))
        else:
            fixes.append(Fix(title, "checked", said(one, language), one.attempt.edits))
    if fixes:
        return fixes
    refuted = {id(one.attempt) for one in tried if one.compared.worse or not one.gone}
    for attempt in finding.attempts:
        if id(attempt) not in refuted or len(finding.attempts) == 1:
            fixes.append(Fix(_title(texts, attempt, finding, language), "suggestion", None, attempt.edits))
    if not fixes:
        fixes = [Fix(_title(texts, Attempt(name, ()), finding, language)) for name in list(texts)[:1]]
    return fixes


def _title(texts: Mapping[str, Any], attempt: Attempt, finding: Finding, language: str) -> str:
    try:
        return words(in_language(texts[attempt.id], language), {"f": {**finding.names, **attempt.names}})
    except (KeyError, WordsError):
        return attempt.id


def said(one: Tried, language: str) -> str:
    """What was run with an edit, and what came of it beside the run without."""
    pair = one.compared
    parts = []
    if pair.metric == FIT:
        before, after = (f"{100 * max(value, 0):.0f}" for value in (pair.before, pair.after))
        parts.append(word("trial_fit", language, before=before, after=after))
    elif pair.metric:
        parts.append(
            word("trial_metric", language, name=pair.metric, before=number(pair.before), after=number(pair.after))
        )
    elif not math.isnan(pair.loss_after):
        parts.append(_loss(pair, language))
    if one.of > 1:
        parts.append(word("trial_seeds", language, count=one.of))
    if not one.whole:
        parts.append(word("trial_steps", language, steps=pair.steps))
    return word("trial_joint", language).join(parts)


def _loss(pair: Compared, language: str) -> str:
    values = {
        name: number(value)
        for name, value in (("first", pair.first), ("before", pair.loss_before), ("after", pair.loss_after))
    }
    return word("trial_loss", language, steps=pair.steps, **values)


def number(value: float) -> str:
    """A number as people write it: three digits that tell."""
    if not math.isfinite(value):
        return str(value)
    return f"{value:.3g}" if abs(value) < 1000 or abs(value) >= 1e6 else f"{value:,.0f}"


def _relative(span: Span | None) -> Span | None:
    """A place below the working folder; what has no name of its own has that of the function in which it stands."""
    if span is None:
        return None
    return replace(
        span, file=shown(span.file), symbol=span.symbol or source_of(span.file).qualified_at(span.line) or None
    )


def report_of(
    diagnoses: Sequence[Diagnosis], language: str, remarks: Sequence[str] = (), rank: int | None = None
) -> Report:
    """The report on a run without an error."""
    lines: dict[tuple[str, int], str] = {}
    for diagnosis in diagnoses:
        places = [(diagnosis.culprit.file, diagnosis.culprit.line)] if diagnosis.culprit else []
        places += [(label.file, label.line) for label in diagnosis.labels]
        for file, line in places:
            source = source_of(file)
            for one in range(max(1, line - _CONTEXT), min(line + _CONTEXT, len(source.lines)) + 1):
                lines[file, one] = source.line(one)
    return Report("", "", (), (), tuple(diagnoses), language=language, remarks=tuple(remarks), source=lines, rank=rank)
