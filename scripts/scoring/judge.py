"""Has one crash explained and judges the answer by what is known of the program."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from explainer.authoring.examples import Runner
from scoring.case import SCRIPT, Case, edited

#: No program may take longer, in seconds; one whose fixes are tried may take longer.
SECONDS, TRIED = 60.0, 120.0
#: The line in which a program of ours says its model's parameters: `SHAPES weight=4x3 bias=4`.
_SHAPES = re.compile(r"^SHAPES (.*)$", re.M)
#: How many layers (those of one name in a repeated block count once) may have other parameters: the one whose size was
#: decided anew, and the one that it meets.
LAYERS = 2

Row = dict[str, Any]


def judged(case: Case, runner: Runner, program: str = "clean") -> Row:
    """One row: what was said of a case and whether it is right. `program` is how fixes are tried (`Runner.run`)."""
    began = time.monotonic()
    others = {name: text for name, text in case.files.items() if name != SCRIPT}
    answer = runner.run(case.files[SCRIPT], others, program, TRIED, script=SCRIPT, trace=True)
    reports = (answer.get("document") or {}).get("reports") or [{}]
    best = next(iter(reports[0].get("diagnoses", ())), None)
    trace = answer.get("trace") or {}
    fix = next((one for one in (best or {}).get("fixes", ()) if one["edits"]), None)
    return {
        "name": case.name,
        "group": case.facts.get("kind") or case.facts["family"],
        "half": case.facts.get("half", ""),
        "outcome": answer["outcome"],
        **(known := _fix(case, fix, runner)),
        **_line(case, best, fix if known["same"] else None),
        "rule": (best or {}).get("rule", ""),
        "family": (best or {}).get("family") == case.facts["family"],
        "said": _said(case, best),
        **{name: trace.get(name, 0) for name in ("made", "filtered", "tried", "passed")},
        "first": trace.get("first", ""),
        "seconds": round(answer.get("seconds", 0.0), 2),
        "whole": round(time.monotonic() - began, 2),
    }


def _line(case: Case, best: Mapping[str, Any] | None, equal: Mapping[str, Any] | None) -> Row:
    """Which line is named, how surely, and whether it is right: `right`, `wrong`, or `none` where none is named.

    Every line that a fix edits which makes the program what it was before it was broken (`equal`) is right.
    """
    at = (best or {}).get("culprit")
    named = (Path(at["file"]).name, at["line"]) if at else None
    edits = (equal or {}).get("edits", ())
    also = {(Path(edit["file"]).name, edit["start_line"] + more) for edit in edits for more in range(_length(edit))}
    right = "none" if named is None else "right" if named in case.culprits | also else "wrong"
    return {"line": right, "named": named, "certainty": (best or {}).get("certainty", "")}


def _length(edit: Mapping[str, Any]) -> int:
    return max(edit["end_line"] - edit["start_line"] + 1, 1)


def _fix(case: Case, fix: Mapping[str, Any] | None, runner: Runner) -> Row:
    """What made the first fix with edits, and whether the program reaches its goal with it.

    `kept`: all parameters but those of the layers that the edit is about keep their shapes; `same`: all of them do, and
    the loss is what it was before the program was broken.
    """
    source = (fix or {}).get("source") or {}
    return {
        **repaired(case, (fix or {}).get("edits", ()), runner),
        "fix": (fix or {}).get("certainty", ""),
        "source": f"{source.get('kind', '')} {source.get('name', '')}".strip(),
        "at": f"{source['file']}:{source['line']}" if source.get("file") else "",
        "edits": [edit["after"] for edit in (fix or {}).get("edits", ())],
    }


def repaired(case: Case, edits: Sequence[Mapping[str, Any]], runner: Runner) -> dict[str, bool]:
    """Whether a program with some edits reaches its goal (`fixed`), and is `kept` and the `same` but for them."""
    printed = _printed(case, edits, runner) if edits else ""
    reached = bool(printed) and case.reached(printed)
    return {"fixed": reached, "kept": reached and _kept(case, printed), "same": reached and _same(case, printed)}


def _printed(case: Case, edits: Sequence[Mapping[str, Any]], runner: Runner) -> str:
    """What the program with the edits prints where it ends well; else empty."""
    try:
        files = edited(case.files, list(edits))
    except (KeyError, ValueError):
        return ""
    others = {name: text for name, text in files.items() if name != SCRIPT}
    ended = runner.run(files[SCRIPT], others, "", SECONDS, script=SCRIPT)
    return str(ended.get("printed") or " ") if ended["outcome"] == "ended" else ""


def shapes(printed: str) -> dict[str, str]:
    """The parameters' shapes by name, of a program that prints them."""
    found = _SHAPES.search(printed)
    return dict(pair.split("=") for pair in found[1].split()) if found else {}


def _same(case: Case, printed: str) -> bool:
    loss = case.facts.get("loss")
    return loss is not None and f"LOSS {loss}" in printed.splitlines() and shapes(printed) == case.facts["parameters"]


def _kept(case: Case, printed: str) -> bool:
    """Whether other parameters have their shapes: all of them, where what is broken had left them alone."""
    healthy = case.facts.get("parameters")
    if not healthy:
        return True
    now = shapes(printed)
    other = {name for name in healthy.keys() | now.keys() if healthy.get(name) != now.get(name)}
    if not case.facts.get("reshaped", True):
        return not other
    return len({re.sub(r"\d+", "#", name.rpartition(".")[0]) for name in other}) <= LAYERS


def _said(case: Case, best: Mapping[str, Any] | None) -> bool:
    """Whether at least half of the names and numbers that matter are said."""
    if best is None:
        return False
    fixes = [text for fix in best["fixes"] for text in (fix["title"], *(edit["after"] or "" for edit in fix["edits"]))]
    told = " ".join(" ".join((best["headline"], best["cause"], *fixes)).split()).lower()
    wanted = [str(one).lower() in told for one in case.facts.get("symbols", ())]
    return 2 * sum(wanted) >= len(wanted)
