"""Why no fix of a diagnosis was tried, or none is shown, as a word of `locale` (`untried_...`): nobody wonders."""

from __future__ import annotations

from explainer.crash import Place
from explainer.diagnosis import Diagnosis
from explainer.probes import Scene
from explainer.remedies import WIDE


def reason(diagnosis: Diagnosis, scene: Scene) -> str | None:
    """Why nothing was tried; None where something was, or there was nothing to try."""
    edits = any(fix.edits for fix in diagnosis.fixes)
    if any(fix.certainty == "checked" for fix in diagnosis.fixes) or scene.interrupted:
        return None
    if scene.live is None:
        return None if not edits else "elsewhere" if scene.crash.place == Place() else "text"
    if scene.starved:
        return "time"
    if scene.tried:
        return "unfinished" if "unfinished" in scene.left_out else None if diagnosis.fixes else "refuted"
    if not (edits or diagnosis.family in WIDE):
        return None
    return _in_the_way(scene) if scene.options.replay else "off"


def _in_the_way(scene: Scene) -> str | None:
    from explainer.replay import run, trial
    from explainer.replay.confine import sandbox
    from explainer.replay.program import unavailable

    program, forbidden, check = scene.options.program, run.why_not(scene), scene.options.check
    if scene.left_out:
        return scene.left_out[0]
    anew = program is not None and not program.warm and check is not False
    known = {sandbox.CUDA: "cuda", sandbox.GROUP: "group", sandbox.THREADS: "threads", run.UNLOADED: "unloaded"}
    if forbidden in known and not anew:
        return known[forbidden]
    if program is not None and (forbidden is None or not program.warm):
        if check is False:
            return "off"
        if unavailable(program):
            return "sandbox"
        if check is None and not trial.early(program.started):
            return "large" if trial.resident_bytes() > trial.LARGE else "long"
    if forbidden is not None:
        return "sandbox"
    return "whole" if program is None else None
