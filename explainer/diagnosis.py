"""What a diagnosis says: pure data, and the JSON document of it. Imports nothing of the project."""

from __future__ import annotations

from dataclasses import field
from typing import Any, Literal

from explainer.frozen import frozen

Certainty = Literal["proved", "likely", "possible"]
FixCertainty = Literal["checked", "suggestion", "sketch"]
SCHEMA_VERSION = 1


@frozen
class Span:
    """A piece of source. Lines are 1-based and inclusive, columns 1-based characters, `end_column` exclusive."""

    file: str
    line: int
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    code: str = ""
    symbol: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The span as the JSON contract has it."""
        names = ("file", "line", "column", "end_line", "end_column", "code", "symbol")
        return {name: getattr(self, name) for name in names}


@frozen
class Label:
    """A sentence on a line of source; columns as in `Span`, None for the whole line."""

    file: str
    line: int
    text: str
    column: int | None = None
    end_column: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The label as the JSON contract has it."""
        return {"file": self.file, "line": self.line, "text": self.text}


@frozen
class Evidence:
    """One row of the operand table: `x`, `[4, 576] float32 cpu`."""

    label: str
    value: str
    file: str | None = None
    line: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The row as the JSON contract has it."""
        return {"label": self.label, "value": self.value, "file": self.file, "line": self.line}


@frozen
class Edit:
    """Lines `start_line`..`end_line` of the untouched file (1-based, both in) give way to `after`.

    `after` None deletes, "" leaves a blank line; an insertion before line N has `end_line` N-1 and `before` None.
    """

    file: str
    start_line: int
    end_line: int
    before: str | None
    after: str | None

    def to_dict(self) -> dict[str, Any]:
        """The edit as the JSON contract has it."""
        names = ("file", "start_line", "end_line", "before", "after")
        return {name: getattr(self, name) for name in names}


@frozen
class FixSource:
    """What offered a fix, and the place that it takes for the cause (absent from fixes in words alone).

    `kind` is `rule` (`name` is `RULE/FIX`), `symptom`, `generator` (`name` is `module.function`), `idiom` or `atom`.
    Of a fix of several repairs `name` joins theirs by ` + `.
    """

    kind: Literal["rule", "symptom", "generator", "idiom", "atom"]
    name: str
    file: str | None = None
    line: int | None = None
    column: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The source of a fix as the JSON contract has it."""
        place = {"file": self.file, "line": self.line, "column": self.column}
        return {"kind": self.kind, "name": self.name, **place}

    def at(self, span: Span) -> FixSource:
        """The same maker, at the place that its edit takes for the cause."""
        return FixSource(self.kind, self.name, span.file, span.line, span.column)


@frozen
class Fix:
    """One way to repair the cause. `checked` says what was run with the edit; empty where nothing was."""

    title: str
    certainty: FixCertainty = "suggestion"
    checked: str | None = None
    edits: tuple[Edit, ...] = ()
    source: FixSource | None = None

    def to_dict(self) -> dict[str, Any]:
        """The fix as the JSON contract has it."""
        edits = [edit.to_dict() for edit in self.edits]
        source = self.source.to_dict() if self.source else None
        words = {"title": self.title, "certainty": self.certainty, "checked": self.checked}
        return {**words, "edits": edits, "source": source}


@frozen
class Diagnosis:
    """One explanation of one crash. `origin` is the contract's `from`: where the value came from and how we know."""

    rule: str
    family: str
    headline: str
    cause: str
    certainty: Certainty = "possible"
    specific: bool = True
    origin: str = ""
    culprit: Span | None = None
    labels: tuple[Label, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    fixes: tuple[Fix, ...] = ()
    notes: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    # Why none of the fixes was tried, where that is so: a word of `locale`, `untried_...`.
    untried: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The diagnosis as the JSON contract has it."""
        return {
            "rule": self.rule,
            "family": self.family,
            "specific": self.specific,
            "certainty": self.certainty,
            "headline": self.headline,
            "cause": self.cause,
            "from": self.origin,
            "labels": [label.to_dict() for label in self.labels],
            "culprit": self.culprit.to_dict() if self.culprit else None,
            "evidence": [row.to_dict() for row in self.evidence],
            "fixes": [fix.to_dict() for fix in self.fixes],
            "untried": self.untried,
            "notes": list(self.notes),
            "links": list(self.links),
        }


@frozen
class ErrorFrame:
    """A frame of the reported error, its file relative to the working directory where it lies below it."""

    file: str
    line: int
    function: str
    code: str
    user: bool
    column: int | None = None
    end_column: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The frame as the JSON contract has it."""
        return {"file": self.file, "line": self.line, "function": self.function, "code": self.code, "user": self.user}


@frozen
class Report:
    """One error found, with its diagnoses, best first; what every renderer gets.

    `traced` are lines that torch's compiler was reading: no frames of the error, but where the user's line is sought.
    """

    type: str
    message: str
    frames: tuple[ErrorFrame, ...] = ()
    chain: tuple[dict[str, str], ...] = ()
    diagnoses: tuple[Diagnosis, ...] = ()
    input: str | None = None
    line: int | None = None
    count: int = 1
    rank: int | None = None
    language: str = "en"
    # What a renderer shows beside the frame when there is no diagnosis, and remarks on the job ("rank 3 failed first").
    operands: tuple[Evidence, ...] = ()
    traced: tuple[ErrorFrame, ...] = ()
    remarks: tuple[str, ...] = ()
    # Lines of the sources that the report points into: (file, line) -> text without its newline.
    source: dict[tuple[str, int], str] = field(default_factory=dict, compare=False)

    @property
    def stack(self) -> tuple[ErrorFrame, ...]:
        """The frames, and what the compiler was reading behind them."""
        return (*self.frames, *self.traced)

    def to_dict(self) -> dict[str, Any]:
        """The report as the JSON contract has it."""
        error = {
            "type": self.type,
            "message": self.message,
            "rank": self.rank,
            "language": self.language,
            "frames": [frame.to_dict() for frame in self.frames],
            "chain": list(self.chain),
        }
        source = {"input": self.input, "line": self.line}
        diagnoses = [diagnosis.to_dict() for diagnosis in self.diagnoses]
        told = error if self.type or self.message else None  # None: a run without an error
        return {
            "source": source,
            "count": self.count,
            "error": told,
            "diagnoses": diagnoses,
            "remarks": list(self.remarks),
        }


def document(reports: tuple[Report, ...]) -> dict[str, Any]:
    """The JSON document of `--format json` and `Explanation.to_dict()`."""
    return {"schema_version": SCHEMA_VERSION, "reports": [report.to_dict() for report in reports]}
