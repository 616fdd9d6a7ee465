"""An error that CUDA reports late: the program runs again on the CPU, where the operator that failed fails at once.

CUDA runs operators behind the program's back: what one of them did wrong is raised by a later line, and the process
can use its GPU no more. `standin` plays CUDA in a sandboxed child; what is raised there is explained there, on its own
line, with its operands, and its fixes are tried there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from explainer.crash import Crash
from explainer.frozen import replace
from explainer.patterns import Pattern

#: What CUDA and its libraries raise when an operator before had failed, or was given what it cannot take.
_LATE = Pattern(
    r"CUDA error: (?:device-side assert|an illegal memory access|unspecified launch failure|misaligned address)"
    r"|CUBLAS_STATUS_|CUDNN_STATUS_|cuDNN error"
)
#: Kinds of cause that the CPU shows as CUDA does; others may be of the CPU alone.
_SHOWN = ("index", "shape", "nan", "view")
#: Seconds of work for the run, with its explanation and trials.
_WORK = 40.0


def explained(crash: Crash, options: Any, packs: Sequence[Path], by: str) -> Mapping[str, Any] | None:
    """The report (see `transfer.sent`) on what the program raises on the CPU; None where that cannot be found out.

    `by` names the module whose `report_on` makes it in the child.
    """
    if options.program is None or not _LATE.search(crash.message):
        return None
    from explainer.replay import standin, trial
    from explainer.replay.program import Session

    if standin.described() is None or not trial.anew(options):
        return None
    asked = {"by": by, "language": options.language, "packs": [str(one) for one in packs]}
    with Session(replace(options.program, warm=False)) as session:
        run = session.run({}, _WORK, explain=asked)
    report = run.answer.get("report")
    shown = report and report["diagnoses"] and report["diagnoses"][0]["family"] in _SHOWN
    return report if shown else None


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
    options = Options(asked["language"], program=own)
    traceback = error.__traceback__
    while traceback is not None and not traceback.tb_frame.f_code.co_filename.startswith(folder):
        traceback = traceback.tb_next
    report = explain(error, traceback, options, tuple(Path(one) for one in asked["packs"])).reports[0]
    return json.loads(json.dumps(sent(report)).replace(folder, request["original"]))
