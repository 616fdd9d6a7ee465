"""SARIF 2.1.0, which code hosts and editors show beside the source: a result a report, its edits as fixes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from explainer.diagnosis import Diagnosis, Edit, Fix, Report, Span
from explainer.render.places import culprit_or_frame, said
from explainer.render.visible import one_line, visible

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(reports: Sequence[Report]) -> str:
    """The log as one JSON document; see OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0"."""
    found = [diagnosis for report in reports for diagnosis in report.diagnoses[:1]]
    rules = [{"id": rule} for rule in sorted({diagnosis.rule for diagnosis in found})]
    driver = {"name": "explainer", "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": [_result(one) for one in reports]}
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _result(report: Report) -> dict[str, Any]:
    diagnosis = report.diagnoses[0] if report.diagnoses else None
    place = culprit_or_frame(report)
    result: dict[str, Any] = {
        "level": "error",
        "message": {"text": _message(report, diagnosis)},
        "locations": [_location(place)] if place else [],
        "occurrenceCount": report.count,
    }
    if diagnosis is None:
        return result
    result["ruleId"] = diagnosis.rule
    result["relatedLocations"] = [
        {**_location(Span(label.file, label.line)), "message": {"text": visible(label.text)}}
        for label in diagnosis.labels
    ]
    result["fixes"] = [_fix(fix) for fix in diagnosis.fixes if fix.edits and fix.certainty == "checked"]
    return result


def _message(report: Report, diagnosis: Diagnosis | None) -> str:
    if diagnosis is None:
        return visible(said(report))
    return visible(f"{diagnosis.headline}\n{diagnosis.cause.strip()}", keep="\n")


def _location(place: Span) -> dict[str, Any]:
    region = {"startLine": place.line, "startColumn": place.column}
    region |= {"endLine": place.end_line, "endColumn": place.end_column if place.column else None}
    known = {name: value for name, value in region.items() if value}
    return {"physicalLocation": {"artifactLocation": _file(place.file), "region": known}}


def _file(name: str) -> dict[str, str]:
    from urllib.parse import quote

    return {"uri": quote(one_line(name).replace("\\", "/"))}


def _fix(fix: Fix) -> dict[str, Any]:
    """A checked fix; its edits, which are whole lines, as replacements."""
    files: dict[str, list[Edit]] = {}
    for edit in fix.edits:
        files.setdefault(edit.file, []).append(edit)
    changes = [
        {"artifactLocation": _file(name), "replacements": [_replacement(edit) for edit in edits]}
        for name, edits in files.items()
    ]
    said_of_it = ": ".join(part for part in (fix.title, fix.checked) if part)
    return {"description": {"text": visible(said_of_it)}, "artifactChanges": changes}


def _replacement(edit: Edit) -> dict[str, Any]:
    """Lines `start_line`..`end_line` up to the start of the line behind them; an insertion deletes nothing."""
    region = {"startLine": edit.start_line, "startColumn": 1, "endLine": edit.end_line + 1, "endColumn": 1}
    text = "" if edit.after is None else edit.after.removesuffix("\n") + "\n"
    return {"deletedRegion": region, "insertedContent": {"text": text}}
