"""Explains one live error on a stream, stage by stage: what a hook does once the original traceback is printed."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from explainer.configured import configured
from explainer.hooks import alike, job, last, launcher, ranks, spawned
from explainer.hooks.process import Settings, kept, say_failed


def show(
    error: BaseException, traceback: Any, settings: Settings, stream: TextIO | None = None, frame: Any = None
) -> None:
    """Print the diagnosis of an error on `stream` (default: standard error); nothing where nothing is known.

    `frame` ends the process: one of `torch.multiprocessing.spawn` leaves the diagnosis to its parent.
    """
    with _no_collection():
        out = stream if stream is not None else sys.stderr
        left = frame is not None and _stage("the parent's report", lambda: spawned.left_to_parent(error, frame), out)
        if left:
            return
        record = _stage("the job's record", lambda: ranks.begun(error, traceback), out)
        _show(error, traceback, settings, out, record)
        _stage("the job's ranks", lambda: job.leave(record), out)


def _show(error: BaseException, traceback: Any, settings: Settings, out: TextIO | None, record: Any) -> None:
    trace = _trace() if settings.why else None
    first = alike.known(error, traceback)
    if first and out is not None:
        write(out, f"explainer: {alike.line(first, _language(settings))}\n")
        return
    first = _stage("who tells it", lambda: alike.claimed(error, traceback), out) if record is None else ""
    explanation = kept(error)
    if explanation is None:
        explanation = _stage("the children's report", lambda: spawned.told(error), out)
    if explanation is None:
        explanation = _stage("the diagnosis", lambda: watched(error, traceback, settings, out, trace), out)
    if explanation is None:
        return
    if os.environ.get(job.FOLDER):
        explanation = _stage("the job's report", lambda: launcher.joined(error, explanation), out) or explanation
    explanation, line = _stage("the job's ranks", lambda: ranks.told(explanation, record), out) or (explanation, "")
    if first:
        line = f"explainer: {alike.line(first, _language(settings))}"
    if out is not None and line:
        write(out, f"{line}\n" if shown(explanation, None, settings) else "")
        return
    if out is not None and _stage("the display", lambda: write(out, shown(explanation, out, settings)), out) is None:
        write(out, headlines(explanation))
    if explanation:
        alike.told(error, traceback)
    if out is not None and trace is not None:
        _stage("the decisions", lambda: write(out, _decisions(trace, out, settings)), out)
    if settings.reports is not None:
        _stage("the report", lambda: settings.reports(explanation), out)
    _stage("keeping the diagnosis for `explain fix`", lambda: last.keep(explanation), out)


def _trace() -> Any:
    from explainer.decisions import Trace

    return Trace()


def _decisions(trace: Any, out: TextIO, settings: Settings) -> str:
    from explainer.render import theme, why

    return "\n" + why.to_str(trace, _language(settings), max(theme.width_of(out), 100))


def _stage(name: str, work: Callable[[], Any], out: TextIO | None) -> Any:
    """The result of a stage; where it fails, one line says which and the next one goes on."""
    try:
        return work()
    except BaseException as failure:
        say_failed(name, failure, out)
        return None


def watched(error: BaseException, traceback: Any, settings: Settings, out: TextIO | None, trace: Any = None) -> Any:
    """`explain` with a progress line where `out` is a terminal."""
    if out is None:
        return explain(error, traceback, settings, trace=trace, search=None)
    from explainer.render.progress import Progress

    with Progress(out) as progress:
        return explain(error, traceback, settings, progress, trace, search=None)


def explain(
    error: BaseException,
    traceback: Any,
    settings: Settings,
    progress: Callable[[str], None] | None = None,
    trace: Any = None,
    search: float | None = 0.0,
) -> Any:
    """The explanation of a live error under these settings; its frames are let go of.

    `search` is how long a search for repairs may take where rules leave the cause open, in seconds of work: none where
    the program goes on, or others wait for it; None: as long as it is meant to.
    """
    from explainer import api
    from explainer.probes.scene import Options

    project = configured()
    old = too_old()
    replay = settings.replay and project.replay and os.environ.get("EXPLAINER_REPLAY") != "0" and not old
    started = settings.program if settings.program is not None else lambda: api.script(settings.begun)
    changed = api.changed(error, traceback)
    program = started() if replay and not changed else None
    begun = api.begun_for(error, program) if settings.check is not False else None
    more = {"progress": progress, "meanwhile": _display, "trace": trace, "changed": changed}
    options = Options(_language(settings), replay, settings.check, program, begun, **more)
    options = options if search is None else replace(options, search=search)
    packs = tuple(Path(folder) for folder in (*settings.rules, *project.rules))
    with _no_collection():
        explanation = api.explain_error(error, traceback, options, packs)
    for remark in (old, project.problem and f"explainer: {project.problem}"):
        explanation = remarked(explanation, remark) if remark and explanation else explanation
    broken = api.broken_packs(packs)
    return remarked(explanation, broken) if broken and explanation.reports else explanation


def _language(settings: Settings) -> str:
    from explainer import api

    return api.language(settings.lang or configured().lang)


def _display() -> None:
    """Import what the display takes, which is wanted when the edits have been tried."""
    import explainer.render.terminal  # noqa: F401


@contextmanager
def _no_collection() -> Iterator[None]:
    """No garbage collection meanwhile: with torch's half a million objects one takes as long as the diagnosis."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def too_old() -> str:
    """A remark where the program's torch is older than 2.1, the oldest whose objects are understood; else empty."""
    version = str(getattr(sys.modules.get("torch"), "__version__", "2.1"))
    numbers = [int(part) for part in version.split("+")[0].split(".")[:2] if part.isdigit()]
    return f"explainer: torch {version} is older than 2.1; nothing was run again" if numbers < [2, 1] else ""


def remarked(explanation: Any, remark: str) -> Any:
    """The same explanation with one more remark on its first report."""
    first, *others = explanation.reports
    return replace(explanation, reports=(replace(first, remarks=(*first.remarks, remark)), *others))


def shown(explanation: Any, out: TextIO | None, settings: Settings) -> str:
    """The text for a stream: a diagnosis, or what failed on the way to one; empty for an error that is not torch's."""
    if explanation or any(from_torch(report) for report in explanation.reports):
        from explainer.render import terminal, theme

        color = out is not None and theme.wants_color(out, settings.color)
        width = theme.width_of(out) if out is not None else 80
        return "\n" + terminal.to_str(explanation.reports, width, settings.full or configured().full, color)
    failures = [line for report in explanation.reports for line in report.remarks if line.startswith("explainer:")]
    return "".join(f"{line}\n" for line in failures)


def headlines(explanation: Any) -> str:
    """What is left to say where the display failed."""
    found = [diagnosis for report in explanation.reports for diagnosis in report.diagnoses]
    return "".join(f"error[{diagnosis.rule}]: {diagnosis.headline}\n" for diagnosis in found)


def from_torch(report: Any) -> bool:
    """Whether an error without a diagnosis left torch's own code and has operands to show."""
    innermost = report.frames[-1].file.replace("\\", "/") if report.frames else ""
    return bool(report.operands) and "/torch/" in innermost and not report.frames[-1].user


def write(out: TextIO, text: str) -> bool:
    """Write and flush, True; characters that the stream's encoding lacks are escaped, a reader that left is ignored."""
    encoding = getattr(out, "encoding", None) or "utf-8"
    try:
        out.write(text.encode(encoding, "backslashreplace").decode(encoding))
        out.flush()
    except (OSError, ValueError):
        pass
    return True
