"""Everything that survives in one crash, with what is counted of it: what `scripts/fit_prior.py` learns from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from explainer import remedies
from explainer.catalogue import load
from explainer.catalogue.rule import UNLISTED
from explainer.diagnose import RULES_TRIED, knowing, symptom_names
from explainer.edits.generators.driver import recorded
from explainer.live import crash_from
from explainer.probes import Options, Scene
from explainer.repair.features import features, roles
from explainer.repair.wide import generated, widely
from explainer.replay.programs import checker
from explainer.weighing import held_rules

#: Seconds of work for what the atoms offer for one program.
WORK = 7.0


def surveyed(error: BaseException, options: Options) -> list[dict[str, Any]]:
    """A row for each edit that survives: its edits, where it came from, the line it blames, its features."""
    catalogue = load(())
    crash = crash_from(error, error.__traceback__, knowing(catalogue), options.language)
    scene = Scene(crash, options)
    match = catalogue.match(crash)
    if match is None:
        return []
    scene.captures = match.captures
    rules = catalogue.rules_for(match.symptom.id if match.symptom.messages else UNLISTED)
    known = [
        remedies.of_rule(one, scene) for one in held_rules(rules, scene, symptom_names(match, scene))[:RULES_TRIED]
    ]
    evidence = recorded(scene)
    if evidence is None:
        return []
    made = checker(scene)
    made.extend(WORK)
    family = match.symptom.family
    if family in remedies.WIDE and not any(one.proves for one in known):
        widely(made, evidence, lambda _: None, family, generated(evidence, family), thorough=True)
    control, where = made.control(), roles(evidence)
    return [_row(one, made.tried[edits], control, judgement, evidence, where)
            for edits, (one, judgement) in made.survived.items()] if control is not None else []  # fmt: skip


def _row(candidate: Any, run: Any, control: Any, judgement: Any, evidence: Any, where: Any) -> dict[str, Any]:
    source = candidate.source
    return {
        "edits": [{**edit.to_dict(), "file": Path(edit.file).name} for edit in candidate.edits],
        "source": f"{source.kind} {source.name}" if source is not None else "",
        "line": [Path(candidate.culprit.file).name, candidate.culprit.line],
        "rule": candidate.fix is not None,
        "features": dict(features(candidate, run, control, judgement, evidence, where)),
    }
