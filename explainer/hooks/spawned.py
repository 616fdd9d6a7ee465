"""`torch.multiprocessing.spawn`: a child ends without its traceback, which the parent raises; so the parent tells it.

The child has the evidence (operands, layers, lines): it leaves its report in the folder of the program's children.
"""

from __future__ import annotations

import os
import types
from dataclasses import replace
from typing import Any

from explainer.hooks import job, process, ranks

_HOME = "torch.multiprocessing.spawn"


def left_to_parent(error: BaseException, frame: types.FrameType) -> bool:
    """Explain the error with which such a child ends, without a word; False for any other process.

    `frame` is the one that ends the process. Where the parent has not installed us nobody would tell: False as well.
    """
    if frame.f_globals.get("__name__") != _HOME or not process.inherited():
        return False
    where = job.beside()
    if where is None:
        return False
    from explainer.hooks import showing
    from explainer.transfer import sent

    rank, world = ranks.here()
    record = {
        **ranks.record(error, error.__traceback__, os.getpid() if rank is None else rank, world),
        "folder": str(where),
    }
    explanation = showing.explain(error, error.__traceback__, process.settings or process.Settings())
    report = sent(explanation.reports[0]) if explanation.reports else None
    return job.write({**record, "report": report}, f"child-{os.getpid()}")


def told(error: BaseException) -> Any:
    """In the parent: what the children found out of the error that it raises; None where they left nothing."""
    from explainer.api import Explanation
    from explainer.hooks import pooled
    from explainer.transfer import received

    task = pooled.told(error)
    if task is not None:
        return Explanation((task,))
    own = getattr(error, "error_pid", None) if type(error).__module__ == _HOME else None
    where = job.beside(os.getpid()) if own is not None else None
    left = [one for one in job.records(where, pattern="child-*.json") if one["report"]] if where is not None else []
    if not any(one["process"] == own for one in left):
        return None
    first = ranks.first_of(left)
    report = received(first["report"])
    alike = sum(one["same"] == first["same"] for one in left)
    lost = [
        ranks.relation(one, first, report.language) for one in left if one["same"] != first["same"] and one["world"] > 1
    ]
    return Explanation((replace(report, count=alike, remarks=(*report.remarks, *filter(None, lost))),))
