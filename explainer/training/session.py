"""One watched run from its end on: what was found, the trials that it asks for, the report."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from explainer.diagnosis import Diagnosis, Report
from explainer.locale import word
from explainer.source import called
from explainer.training.finding import Finding, findings
from explainer.training.judge import Compared, strong
from explainer.training.limits import limits
from explainer.training.nonfinite import nonfinite, since
from explainer.training.sources import program_sources
from explainer.training.told import diagnosis_of, report_of
from explainer.training.trials import Trials, Tried, taught

#: Diagnoses of one run that are shown at most.
_MOST = 3
#: By which share a guess must do better than no training at all.
_TAUGHT = 0.25


def concluded(
    watcher: Any,
    program: Any,
    budget: float,
    took: float,
    language: str,
    progress: Callable[[str], None],
    trial: bool = True,
) -> Report:
    """The report on a run that has ended. `took` is how many seconds it ran; `budget` those for trials; 0 for none."""
    from explainer.training.proposals import proposals

    notes = watcher.stop()
    found = findings(watcher)
    if not notes.losses and not notes.steps:
        return report_of((), language, [word("watch_nothing", language)])
    trials = Trials(program, budget if trial else 0.0, took, progress)
    measures = not surrogate(watcher)
    try:
        told = _proved(found, trials)
        if not any(_held(tried) for _, tried in told):
            told += _nonfinite(watcher, trials, language)
        if not any(_held(tried) or one.told for one, tried in told):
            told += _proposed([one for one in found if not one.proved], trials, measures)
            content = not told and trials.verdict(program_sources(watcher)) is True
            if not told and not content:  # what the program itself calls good enough is not in doubt
                told += _proposed(list(proposals(watcher)), trials, measures)
            if not told and not content:
                told += _starving(watcher, trials) or _costly(watcher, trials) or _searched(watcher, trials)
    except KeyboardInterrupt:
        told = [(one, []) for one in found if one.proved]
    finally:
        trials.close()
    told.sort(key=lambda one: (not _held(one[1]), not one[0].proved, -one[0].weight))
    diagnoses = [diagnosis_of(one, tried, language) for one, tried in told]
    shown = _apart([one for one in diagnoses if one is not None])[:_MOST]
    remarks = [*([] if shown else _looked(notes, language)), *limits(watcher, language)]
    if trial and trials.why and any(one.attempts for one in found):
        remarks.append(word("watch_untried", language, why=trials.why))
    return report_of(shown, language, remarks)


def _held(tried: list[Tried]) -> bool:
    return any(_holds(one) for one in tried)


def _holds(one: Tried) -> bool:
    return one.compared.better and one.gone and one.seeds == one.of


def _proved(found: list[Finding], trials: Trials) -> list[tuple[Finding, list[Tried]]]:
    told = [(one, trials.tried(one)) for one in found if one.proved]
    return [(one, tried) for one, tried in told if not _harmless(one, tried)]


#: Rules on how the program measures and what it holds: there an edit need not make a number better.
_MEASURING = ("stale-weights-evaluated", "graph-kept-across-steps", "tied-weights-broken")


#: Rules whose fact a run with the edit shows: the program's own number is another one.
_CHANGED = ("metric-of-last-batch",)


def _changed(one: Tried) -> bool:
    return one.whole and bool(one.compared.metric) and one.compared.before != one.compared.after


def _harmless(finding: Finding, tried: list[Tried]) -> bool:
    """Whether the edits took the fact away, the program ran whole, and nothing went better by its own number."""
    if finding.rule in _MEASURING:
        return False
    return bool(tried) and all(
        one.whole and one.gone and not one.compared.better and one.compared.metric for one in tried
    )


def surrogate(watcher: Any) -> bool:
    """Whether a loss is made of the probabilities of what was sampled: its size says nothing of what is learned."""
    calls = [called(one) for source in program_sources(watcher) for one in source.nodes() if isinstance(one, ast.Call)]
    return {"log_prob", "sample"} <= set(calls)


def _proposed(found: list[Finding], trials: Trials, measures: bool) -> list[tuple[Finding, list[Tried]]]:
    """Those for which a trial spoke, on every seed it was run with; the first one ends it.

    `measures`: whether a smaller loss is a better one, where the program prints no other number.
    """
    for one in found:
        tried = trials.tried(one, comparable=measures and one.names.get("comparable", True))
        if one.rule in _CHANGED and any(_changed(each) for each in tried):
            return [(replace(one, proved=True), tried)]
        if not tried or not _holds(tried[0]) or tried[0].of < 2:
            continue
        if one.seen or (strong(tried[0].compared) and _taught(tried[0].compared, trials)):
            return [(one, [each for each in tried if each.of > 1])]
    return []


def _taught(pair: Compared, trials: Trials) -> bool:
    """Whether the program's own number beats that of a run whose steps change nothing, not only a wrong lesson's."""
    return taught(pair, trials) > _TAUGHT


def _nonfinite(watcher: Any, trials: Trials, language: str) -> list[tuple[Finding, list[Tried]]]:
    """What made a loss nan for good, with its edits run on other seeds too."""
    found = nonfinite(watcher, trials, language)
    return [(found, trials.tried(found))] if found is not None else []


def _starving(watcher: Any, trials: Trials) -> list[tuple[Finding, list[Tried]]]:
    from explainer.training.search.starving import starving

    return starving(watcher, trials) if trials.left > 0 else []


def _costly(watcher: Any, trials: Trials) -> list[tuple[Finding, list[Tried]]]:
    from explainer.training.search.costs import costly

    return costly(watcher, trials) if trials.left > 0 else []


def _searched(watcher: Any, trials: Trials) -> list[tuple[Finding, list[Tried]]]:
    """The edit of a training in doubt that trials found: what nobody doubts needs no search, nor its parts imported."""
    from explainer.training.search.doubts import doubted

    found = doubted(watcher, trials)
    if found is None or trials.why or trials.left <= 0:
        return []
    from explainer.training.search.search import searched

    last = searched(watcher, trials, found)
    return [] if last is None else [last]


def _apart(diagnoses: list[Diagnosis]) -> list[Diagnosis]:
    """One diagnosis a rule and line."""
    seen: dict[Any, Diagnosis] = {}
    for one in diagnoses:
        seen.setdefault((one.rule, one.culprit and (one.culprit.file, one.culprit.line)), one)
    return list(seen.values())


def _looked(notes: Any, language: str) -> list[str]:
    """What was looked at, and that nothing was found; that a loss is not finite, where nothing says why."""
    models = ", ".join(dict.fromkeys(root["kind"] for root in notes.roots.values())) or "-"
    looked = word(
        "watch_quiet",
        language,
        steps=notes.steps,
        models=models,
        optimizers=len(notes.optimizers),
        loaders=len(notes.loaders),
    )
    return [*since(notes, language), looked]


def left(watcher: Any) -> None:
    """End watching in a rank that does not tell; what rank 0 compares is left for it."""
    from explainer.training import ranks

    watcher.stop()
    ranks.leave(watcher)


def rank() -> int:
    """This process's rank in a job of several, 0 where there is one."""
    return int(os.environ.get("RANK", "0") or 0)
