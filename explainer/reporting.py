"""The report that renderers get: paths made relative, the lines of source to show, the operand table."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any

from explainer.crash import Crash, Frame
from explainer.diagnosis import Diagnosis, ErrorFrame, Evidence, Fix, Report, Span
from explainer.facts import ModuleFact, TensorFact, ValueFact
from explainer.frozen import replace
from explainer.locale import word
from explainer.probes import Scene, find

#: Lines of context that a report carries around each place it points at.
CONTEXT = 3


def report_on(scene: Scene, diagnosis: Diagnosis | None) -> Report:
    """The report on a crash with its diagnosis, everything a renderer needs in it."""
    crash = scene.crash
    operands = (
        rows(getattr(scene.once("call fact", lambda: find("call")(scene)), "arguments", ())) if scene.live else ()
    )
    if diagnosis is not None and operands:
        diagnosis = replace(diagnosis, evidence=diagnosis.evidence or operands)
    source = _lines(scene, diagnosis)
    relative_source = {(relative(file), line): text for (file, line), text in source.items()}
    plain = bare(crash, diagnosis, scene.options.language)
    return replace(plain, operands=operands, source=relative_source) if operands or source else plain


def with_history(diagnosis: Diagnosis | None, scene: Scene) -> Diagnosis | None:
    """A diagnosis on shapes, with the way of the operands' shapes through the lines above where a replay shows it."""
    if diagnosis is None or diagnosis.family not in ("shape", "view"):
        return diagnosis
    if scene.live is None or not scene.options.replay:
        return diagnosis
    from explainer.probes.history import shape_history

    steps, language = shape_history(scene), scene.options.language
    if len(steps) < 2:
        return diagnosis
    told = [word("shape_step", language, line=step.line, step=step) for step in steps]
    way = word("shape_history", language, steps=word("listed", language).join(told))
    return replace(diagnosis, origin=" ".join(part for part in (diagnosis.origin, way) if part))


def bare(crash: Crash, diagnosis: Diagnosis | None, language: str) -> Report:
    """The report without anything that needs the scene."""
    chain = tuple([{"relation": link.relation, "type": link.type, "message": link.message} for link in crash.chain])
    place = crash.place
    diagnoses = (_relative(diagnosis),) if diagnosis is not None else ()
    return Report(
        crash.type,
        crash.message,
        _frames(crash.frames),
        chain,
        diagnoses,
        place.input,
        place.line,
        crash.count,
        place.rank,
        language,
        traced=_frames(crash.traced),
        remarks=tuple([one if isinstance(one, str) else one.text(language) for one in crash.remarks]),
    )


def _frames(frames: Iterable[Frame]) -> tuple[ErrorFrame, ...]:
    return tuple(
        [ErrorFrame(relative(f.file), f.line, f.function, f.code, f.user, f.column, f.end_column) for f in frames]
    )


def rows(facts: Iterable[Any]) -> tuple[Evidence, ...]:
    """Facts as rows of the operand table, each once; what has no metadata worth showing is left out."""
    shown = [fact for fact in facts if isinstance(fact, (TensorFact, ModuleFact)) or _plain(fact)]
    spans = {(fact.name, str(fact)): fact.span for fact in reversed(shown) if fact.name != str(fact)}
    return tuple(Evidence(name, said, s and s.file, s and s.line) for (name, said), s in reversed(spans.items()))


def _plain(fact: Any) -> bool:
    return isinstance(fact, ValueFact) and fact.value is not None


def relative(file: str) -> str:
    """A path relative to the working directory where it lies below it; a notebook's cell as its traceback names it."""
    cell = _cell(file)
    if cell is not None:
        return cell
    try:
        short = os.path.relpath(file)
    except (ValueError, OSError):
        return file
    return file if not os.path.isabs(file) or short.startswith("..") else short


def _cell(file: str) -> str | None:
    """`Cell In[2]` for the file name under which IPython (8 or newer) compiled a cell; None for any other."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    named = getattr(getattr(shell, "compile", None), "format_code_name", lambda _: None)(file)
    return " ".join(named) if named else None


def _relative(diagnosis: Diagnosis) -> Diagnosis:
    if not (diagnosis.culprit or diagnosis.labels or diagnosis.evidence or any(fix.edits for fix in diagnosis.fixes)):
        return diagnosis  # it names no file
    return replace(
        diagnosis,
        culprit=diagnosis.culprit and replace(diagnosis.culprit, file=relative(diagnosis.culprit.file)),
        labels=tuple(replace(label, file=relative(label.file)) for label in diagnosis.labels),
        evidence=tuple(replace(row, file=row.file and relative(row.file)) for row in diagnosis.evidence),
        fixes=tuple(map(_relative_fix, diagnosis.fixes)),
    )


def _relative_fix(fix: Fix) -> Fix:
    source = fix.source and replace(fix.source, file=fix.source.file and relative(fix.source.file))
    return replace(fix, edits=tuple(replace(edit, file=relative(edit.file)) for edit in fix.edits), source=source)


def _lines(scene: Scene, diagnosis: Diagnosis | None) -> dict[tuple[str, int], str]:
    """The source around the crash line, the culprit, the labels and the edits."""
    lines: dict[tuple[str, int], str] = {}
    for file, line in _places(scene.crash, diagnosis):
        source = scene.source(file)
        lines |= {(file, number): text for number, text in source.around(line, CONTEXT).items()} if source else {}
    return lines


def _places(crash: Crash, diagnosis: Diagnosis | None) -> set[tuple[str, int]]:
    frame = crash.user_frame
    places = {(frame.file, frame.line)} if frame else set()
    if diagnosis is not None:
        spans: list[Span] = [diagnosis.culprit] if diagnosis.culprit else []
        places |= {(span.file, span.line) for span in spans} | {(label.file, label.line) for label in diagnosis.labels}
        places |= {(edit.file, edit.start_line) for fix in diagnosis.fixes for edit in fix.edits}
    return places
