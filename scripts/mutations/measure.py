"""Runs mutants, has each crash explained, and judges the answer by the mutation."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from explainer.authoring.examples import Runner
from mutations.mutant import Mutant, Place
from mutations.programs import SCRIPT

#: A mutant that does not crash by then is none, in seconds; checks may take longer.
SECONDS = 20.0
CHECKED_SECONDS = 90.0
#: Errors that are Python's own or numpy's, unless a symptom knows better.
PLAIN = (
    "AttributeError",
    "NameError",
    "UnboundLocalError",
    "AssertionError",
    "KeyError",
    "ZeroDivisionError",
    "TypeError",
)


@dataclass(frozen=True)
class Result:
    """What came of one mutant: how it ended, what was said, and whether that was right."""

    name: str
    program: str
    kind: str
    what: str
    outcome: str
    whole: bool = False
    error: str = ""
    rule: str = ""
    family: str = ""
    family_right: bool = False
    certainty: str = ""
    culprit: Place | None = None
    right: str = ""
    fix: str = ""
    fix_runs: bool = False
    truth: tuple[Place, ...] = ()
    also: tuple[Place, ...] = ()
    seconds: float = 0.0


def measured(mutant: Mutant, runner: Runner, whole: bool = False) -> Result:
    """Run a mutant; its crash explained in process, or with the whole program tried again too (`whole`).

    `outcome` is `torch` (it crashed as PyTorch does), `python` (as any Python does), or how else it ended. `right` is
    `truth`, `also`, `wrong`, or `none` where no line was named.
    """
    began = time.monotonic()
    answer = _run(mutant.files, runner, whole)
    common = {"name": mutant.name, "program": mutant.program, "kind": mutant.kind, "what": mutant.what, "whole": whole}
    reports = (answer.get("document") or {}).get("reports") or [None]
    if reports[0] is None:
        return Result(**common, outcome=answer["outcome"])
    error, best = reports[0]["error"], next(iter(reports[0]["diagnoses"]), None)
    outcome = "torch" if best is not None or _of_torch(error) else "python"
    places = {"truth": tuple(sorted(mutant.truth)), "also": tuple(sorted(mutant.also))}
    said = {"error": f"{error['type']}: {error['message']}"[:300], "seconds": round(time.monotonic() - began, 2)}
    return Result(**common, **places, **said, **_judged(mutant, best, runner), outcome=outcome)


def _of_torch(error: Mapping[str, Any]) -> bool:
    plain = error["type"] in PLAIN or "tuple index" in error["message"] or "list index" in error["message"]
    return not plain and any("torch" in frame["code"] or not frame["user"] for frame in error["frames"])


def _run(files: Mapping[str, str], runner: Runner, whole: bool) -> dict[str, Any]:
    others = {name: text for name, text in files.items() if name != SCRIPT}
    seconds = CHECKED_SECONDS if whole else SECONDS
    return runner.run(files[SCRIPT], others, "clean" if whole else "warm", seconds)


def _judged(mutant: Mutant, best: Mapping[str, Any] | None, runner: Runner) -> dict[str, Any]:
    if best is None:
        return {"right": "none"}
    at = best["culprit"]
    culprit = (at["file"], at["line"]) if at else None
    right = (
        "none"
        if culprit is None
        else "truth"
        if culprit in mutant.truth
        else "also"
        if culprit in mutant.also
        else "wrong"
    )
    fix = next((one for one in best["fixes"] if one["edits"]), None)
    return {
        "rule": best["rule"],
        "family": best["family"],
        "family_right": best["family"] in mutant.family,
        "certainty": best["certainty"],
        "culprit": culprit,
        "right": right,
        "fix": fix["certainty"] if fix else "",
        "fix_runs": bool(fix) and _ends_well(mutant.files, fix, runner),
    }


def _ends_well(files: Mapping[str, str], fix: Mapping[str, Any], runner: Runner) -> bool:
    """Whether the program with the fix's edits runs to its end, where it says OK."""
    repaired = dict(files)
    for edit in sorted(fix["edits"], key=lambda edit: (edit["start_line"], edit["end_line"]), reverse=True):
        lines = repaired.get(edit["file"], "").splitlines()
        after = [] if edit["after"] is None else edit["after"].splitlines() or [""]
        lines[edit["start_line"] - 1 : edit["end_line"]] = after
        repaired[edit["file"]] = "\n".join(lines) + "\n"
    return _run(repaired, runner, False)["outcome"] == "ended"
