"""An error of a program that uses CUDA, explained where CUDA is played on the CPU: in a sandboxed child (`standin`).

CUDA runs operators behind the program's back: what one of them did wrong is raised by a later line, and the process
can use its GPU no more. The child raises it at once, on its own line, with its operands. And a process that uses CUDA
cannot be forked: statements are run again, and values watched, in the child alone.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from explainer.crash import Crash
from explainer.diagnosis import Report
from explainer.frozen import replace
from explainer.patterns import Pattern
from explainer.replay.outcomes import plain

#: What CUDA and its libraries raise when an operator before had failed, or was given what it cannot take.
_LATE = Pattern(
    r"CUDA error: (?:device-side assert|an illegal memory access|unspecified launch failure|misaligned address)"
    r"|CUBLAS_STATUS_|CUDNN_STATUS_|cuDNN error"
)
#: Kinds of cause of what comes late that the CPU shows as CUDA does; others may be of the CPU alone.
_SHOWN = ("index", "shape", "nan", "view")
#: What is told by where tensors lie, which the child that explains has forgotten.
_PLACES = "device"
#: What fails wherever there is no room any more, which need not be the same line.
_FILLED = "oom"
#: Seconds of work for the run with its explanation, and for the replays and trials among it.
_WORK, _TRIALS = 90.0, 40.0
#: More bytes on a GPU are not filled on the CPU.
_ROOM = 3 << 30


def explained(crash: Crash, options: Any, packs: Sequence[Path], by: str) -> Mapping[str, Any] | None:
    """The report (see `transfer.sent`) on what the program raises on the CPU for an error that came late; else None.

    `by` names the module whose `report_on` makes it in the child.
    """
    if not _LATE.search(crash.message):
        return None
    report = _in_child(crash, options, packs, by)
    return report if report and report["diagnoses"] and report["diagnoses"][0]["family"] in _SHOWN else None


def better(known: Report, crash: Crash, options: Any, packs: Sequence[Path], by: str) -> Mapping[str, Any] | None:
    """The report on the same error on the CPU, where a fix was tried there, or a line found, and none was here."""
    first = known.diagnoses[0] if known.diagnoses else None
    if first is None or first.family == _PLACES or any(fix.certainty == "checked" for fix in first.fixes):
        return None
    if first.untried == "late" or (first.untried == "control" and first.family != _FILLED):  # so it would be there
        return None
    report = _in_child(crash, options, packs, by)
    if not report or not report["diagnoses"] or plain(report["message"]) != plain(crash.message):
        return None
    there = report["diagnoses"][0]
    tried = any(fix["certainty"] == "checked" for fix in there["fixes"])
    return report if tried or (there["culprit"] is not None and first.culprit is None) else None


def _in_child(crash: Crash, options: Any, packs: Sequence[Path], by: str) -> Mapping[str, Any] | None:
    if options.program is None or crash.live is None or "torch" not in sys.modules:
        return None
    from explainer.replay import standin, trial
    from explainer.replay.program import Session

    about = standin.described(crash.message)
    if about is None or not trial.anew(options) or (about.get("room") or 0) > _ROOM:
        return None
    asked = {"by": by, "language": options.language, "packs": [str(one) for one in packs]}
    with Session(replace(options.program, warm=False), message=crash.message) as session:
        return session.run({}, _WORK, explain=asked).answer.get("report")  # type: ignore[no-any-return]


def report_on(error: BaseException, request: Mapping[str, Any], explain: Callable[..., Any]) -> Any:
    """In the child: what `explain` says of what ended the program, with paths as they were before it was copied."""
    from explainer.probes.scene import Options
    from explainer.replay import standin
    from explainer.replay.confine import process
    from explainer.replay.program import Program
    from explainer.transfer import sent

    process.inside = True
    standin.leave()
    folder, asked = request["folder"], request["explain"]
    script = request["script"] and os.path.relpath(
        os.path.join(request["original"], request["script"]), request["original"]
    )
    own = Program(script, request["module"], tuple(request["argv"]), folder, warm=True)
    options = Options(asked["language"], program=own, deadline=_TRIALS)
    traceback = error.__traceback__
    while traceback is not None and not traceback.tb_frame.f_code.co_filename.startswith(folder):
        traceback = traceback.tb_next
    report = explain(error, traceback, options, tuple(Path(one) for one in asked["packs"])).reports[0]
    return json.loads(json.dumps(sent(report)).replace(folder, request["original"]))
