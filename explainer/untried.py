"""Why no fix of a diagnosis was tried, as a word of `locale` (`untried_...`): nobody is left to wonder."""

from __future__ import annotations

from explainer.diagnosis import Diagnosis
from explainer.edits.tiers import TIERS
from explainer.probes import Scene
from explainer.replay import run, sandbox, trial
from explainer.replay.program import unavailable

_IN_THE_WAY = {sandbox.CUDA: "cuda", sandbox.GROUP: "group", sandbox.THREADS: "threads"}


def reason(diagnosis: Diagnosis, scene: Scene) -> str | None:
    """Why nothing was tried; None where something was, or there was nothing to try."""
    edits = any(fix.edits for fix in diagnosis.fixes)
    if any(fix.certainty == "checked" for fix in diagnosis.fixes) or scene.interrupted:
        return None
    if scene.live is None:
        return "text" if edits else None
    if scene.starved:
        return "time"
    if scene.tried:
        return "unfinished" if "unfinished" in scene.left_out else None
    if not (edits or diagnosis.family in TIERS):
        return None
    return _in_the_way(scene)


def _in_the_way(scene: Scene) -> str | None:
    program, forbidden = scene.options.program, run.why_not(scene)
    if not scene.options.replay:
        return "off"
    if scene.left_out:
        return scene.left_out[0]
    new = program is not None and not program.warm and scene.options.check is not False
    if forbidden in _IN_THE_WAY and not new:
        return _IN_THE_WAY[forbidden]
    if program is not None and (program.warm is False or forbidden is None):
        if scene.options.check is False:
            return "off"
        if unavailable(program):
            return "sandbox"
        if scene.options.check is None and not trial.early(program.started):
            return "large" if trial.resident_bytes() > trial.LARGE else "long"
    if forbidden is not None:
        return "sandbox"
    return "whole" if program is None else None
