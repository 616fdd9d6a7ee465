"""One error's repro: scripts from every source of evidence, tried until one raises the same error."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from explainer.catalogue import Catalogue, Match
from explainer.crash import Crash
from explainer.frozen import frozen
from explainer.probes.scene import Options, Scene
from explainer.render.visible import visible
from explainer.replay.scripts import CleanProcess
from explainer.reproduce import Repro, agreement, autograd, calls, checkpoints, collate, pasted, shrink

#: How many scripts are tried for one error, and for how many seconds of work.
TRIED, LONGEST = 60, 15.0


@frozen
class Trial:
    """A script and the error that ended it. `rank`: 3 the same message, 2 with other numbers, 1 the same symptom."""

    script: str
    error: dict[str, str]
    rank: int


def repro(crash: Crash, catalogue: Catalogue, options: Options, process: CleanProcess | None = None) -> Repro:
    """The repro of one crash. `process` is a clean process that others share; without it one is started."""
    match = catalogue.match(crash)
    scene = Scene(crash, options, dict(match.captures) if match else None)
    missing: set[str] = set()
    scripts = dict.fromkeys(_scripts(scene, match, missing))
    if not scripts:
        return Repro(why=_why(crash, match, missing))
    if process is not None:
        return _tried(list(scripts), crash, match, catalogue, process)
    with CleanProcess() as own:
        return _tried(list(scripts), crash, match, catalogue, own)


def _tried(scripts: list[str], crash: Crash, match: Match | None, catalogue: Catalogue, process: CleanProcess) -> Repro:
    about = process.about()
    if not about:
        return Repro(why="torch cannot be imported, so that no script can be checked")
    if elsewhere := _elsewhere(scripts, about):
        return _unchecked(elsewhere, crash, about)
    symptom = match.symptom.id if match else None
    found = _best(scripts, crash, symptom, catalogue, process)
    if found is None:
        return Repro(why=_NOT_RAISED.format(version=about["torch"]))
    small = shrink.smaller(found.script, lambda script: process.run(script) == found.error)
    return _checked(replace(found, script=small), crash, about)


_NOT_RAISED = (
    "no call of torch's alone raised this error again on torch {version}; "
    "it depends on more than shapes, dtypes and devices"
)


def _scripts(scene: Scene, match: Match | None, missing: set[str]) -> Iterator[str]:
    """Scripts from the live call, from the evidence on the graph, from the message."""
    message, symptom = scene.crash.message, match.symptom.id if match else ""
    captures = match.captures if match else {}
    sources: list[Callable[[], Any]] = [
        lambda: autograd.scripts(symptom, scene, message),
        lambda: collate.scripts(scene),
        lambda: (script for sketch in calls.sketches(scene) for script in sketch.scripts()),
        lambda: checkpoints.scripts(message) if symptom.startswith("state-dict") else (),
    ]
    for source in sources:
        yield from _guarded(source)
    made, blanks = pasted.scripts(symptom, captures)
    missing |= blanks
    yield from made


def _guarded(source: Callable[[], Any]) -> list[str]:
    """A source's scripts; none where it fails, since another may do."""
    try:
        return list(source())
    except Exception:
        return []


def _best(scripts: list[str], crash: Crash, symptom: str | None, catalogue: Catalogue, process: Any) -> Trial | None:
    """The first script that raises the very same message; else the one that comes nearest, None where none does."""
    best, before = None, process.spent
    for script in scripts[:TRIED]:
        if process.spent - before > LONGEST:
            break
        ended = process.run(script)
        rank = agreement.rank(crash, symptom, ended, catalogue) if ended else 0
        if rank > (best.rank if best else 0):
            best = Trial(script, ended, rank)
        if rank == agreement.SAME:
            break
    return best


def _elsewhere(scripts: list[str], about: dict[str, Any]) -> str | None:
    """The first script, where it needs a device that this machine lacks."""
    asked = re.search(r'"(cuda|mps|xpu)', scripts[0])
    return scripts[0] if asked and not (asked[1] == "cuda" and about["cuda"]) else None


def _unchecked(script: str, crash: Crash, about: dict[str, Any]) -> Repro:
    raised = f"{crash.name}: {crash.message}"
    said = "Not checked here: no such device."
    return Repro(_headed(script, raised, about, said, crash.live is not None), False, raised)


def _checked(trial: Trial, crash: Crash, about: dict[str, Any]) -> Repro:
    raised = f"{trial.error['type']}: {trial.error['message']}"
    said = "Checked: raises it in a new process."
    if trial.rank < agreement.SAME:
        said += f"\n# The error that it stands for said: {_line(f'{crash.name}: {crash.message}')}"
    return Repro(_headed(trial.script, raised, about, said, crash.live is not None), True, raised)


_SOURCES = {True: "shapes, dtypes and settings alone", False: "the error's message alone"}


def _headed(script: str, raised: str, about: dict[str, Any], said: str, live: bool) -> str:
    """A script below the comment that says what it raises, on what, and what in it is made up."""
    system = f"{platform.system()} {platform.machine()}"
    return (
        f"# Raises {_line(raised)}\n# torch {about['torch']}, Python {about['python']}, {system}. {said}\n"
        f"# Made from {_SOURCES[live]}: all values are synthetic.\n{script}"
    )


def _line(text: str) -> str:
    """An error as one line of a comment."""
    return visible(agreement.without_tail(text))[:300]


def _why(crash: Crash, match: Match | None, missing: set[str]) -> str:
    if crash.live is not None:
        return "the error left no call of torch's that could be isolated" if match else "the error is not PyTorch's"
    if match is None:
        return "the message is none that PyTorch is known for"
    if missing:
        return f"the message does not tell {_listed(missing)}; run the program with `explain repro SCRIPT`"
    return "this message tells too little for a script; run the program with `explain repro SCRIPT`"


def _listed(missing: set[str]) -> str:
    return " or ".join(sorted(f"`{one}`" if one.isidentifier() else one for one in missing))
