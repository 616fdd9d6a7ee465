"""A report as JSON data and back, whole: how a child process hands over what it found out.

Not by pickle: user code ran in the child, and what it sends must stay data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from explainer.diagnosis import Diagnosis, Edit, ErrorFrame, Evidence, Fix, FixSource, Label, Report, Span

#: What the fields of a class hold, where that is a class of ours: one of it, or a row of them.
_PARTS: Mapping[type, Mapping[str, type]] = {
    Report: {"frames": ErrorFrame, "traced": ErrorFrame, "diagnoses": Diagnosis, "operands": Evidence},
    Diagnosis: {"culprit": Span, "labels": Label, "evidence": Evidence, "fixes": Fix},
    Fix: {"edits": Edit, "source": FixSource},
}


def sent(report: Report) -> dict[str, Any]:
    """The report as JSON data."""
    return {**asdict(report), "source": [[file, line, text] for (file, line), text in report.source.items()]}  # type: ignore[call-overload]


def received(data: Mapping[str, Any]) -> Report:
    """The report that `sent` made this of."""
    source = {(file, line): text for file, line, text in data["source"]}
    return _made(Report, {**data, "source": source})


def _made(kind: type, data: Mapping[str, Any]) -> Any:
    parts = _PARTS.get(kind, {})
    return kind(**{name: _part(parts.get(name), value) for name, value in data.items()})


def _part(kind: type | None, value: Any) -> Any:
    """A field's value: rows are tuples again, ours are objects again."""
    if isinstance(value, (list, tuple)):
        return tuple(_part(kind, one) for one in value)
    return _made(kind, value) if kind and value is not None else value
