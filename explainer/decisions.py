"""What became of each candidate edit on the way to a diagnosis, kept where somebody asks (`explain run --why`)."""

from __future__ import annotations

from dataclasses import field
from typing import Any, Literal

from explainer.frozen import mutable

Outcome = Literal["made", "filtered", "passed", "failed", "late"]


@mutable
class Decision:
    """A candidate, how far it came, and why no further: a word of `locale` (`why_...`) or the error of its run."""

    candidate: Any
    outcome: Outcome = "made"
    reason: str = ""


@mutable
class Trace:
    """The decisions on one crash: candidates by their edits in the order in which they were made, rules by their id.

    `held` are the names that the words of a rule that held may use. `first` is why the first fix is first, `remarks`
    what kept edits from being tried: words of `locale`.
    """

    candidates: dict[Any, Decision] = field(default_factory=dict)
    rules: dict[str, str] = field(default_factory=dict)
    held: dict[str, Any] = field(default_factory=dict)
    first: str = ""
    remarks: list[str] = field(default_factory=list)

    def made(self, candidate: Any) -> Decision:
        """Note that a candidate was made (once, however often it is offered)."""
        return self.candidates.setdefault(candidate.edits, Decision(candidate))

    def filtered(self, candidate: Any, reason: str) -> None:
        """Note that a candidate was put aside before any run."""
        decision = self.made(candidate)
        if decision.outcome == "made":
            decision.outcome, decision.reason = "filtered", reason

    def tried(self, candidate: Any, outcome: Outcome, reason: str = "") -> None:
        """Note how a run of a candidate ended. One that passed stays so, whatever a run of less says."""
        decision = self.made(candidate)
        if decision.outcome != "passed":
            decision.outcome, decision.reason = outcome, reason

    def counts(self) -> dict[str, int]:
        """How many candidates were made, filtered before any run, tried, and passed."""
        ends = [decision.outcome for decision in self.candidates.values()]
        tried = len(ends) - ends.count("made") - ends.count("filtered")
        return {
            "made": len(ends),
            "filtered": ends.count("filtered"),
            "tried": tried,
            "passed": ends.count("passed"),
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        rows = [
            {
                "outcome": one.outcome,
                "reason": one.reason,
                "title": one.candidate.title,
                "tier": one.candidate.tier,
                "source": one.candidate.source.to_dict() if one.candidate.source else None,
                "edits": [edit.to_dict() for edit in one.candidate.edits],
            }
            for one in self.candidates.values()
        ]
        return {
            **self.counts(),
            "rules": dict(self.rules),
            "first": self.first,
            "remarks": list(self.remarks),
            "candidates": rows,
        }
