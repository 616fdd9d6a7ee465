"""What watching found: which rule, the numbers for its words, the line, and the edits that are worth a trial."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, replace
from typing import Any

from explainer.diagnosis import Diagnosis, Edit, Label, Span
from explainer.frozen import frozen


@frozen
class Attempt:
    """Edits that may repair it; `id` names the words in the rule's `fixes`, `names` is what they need besides."""

    id: str
    edits: tuple[Edit, ...]
    names: dict[str, Any] = field(default_factory=dict)
    culprit: Span | None = None


@frozen
class Finding:
    """One thing that is wrong. `proved`: a structural fact says so; otherwise it is told where a trial confirms it.

    `seen`: something structural points at it, so that a trial need not be overwhelming; what is only a guess must be.
    `fact`: a run in which it is found again refutes the edit, as with what is proved.
    `told`: the words of a rule of crashes, which tell it in place of the rule's own.
    `searched`: nothing points at it but the trials of many edits, of which one did best: that may be another's merit.
    """

    rule: str
    names: dict[str, Any]
    culprit: Span | None
    attempts: tuple[Attempt, ...] = ()
    proved: bool = True
    labels: tuple[Label, ...] = ()
    weight: float = 1.0
    seen: bool = False
    searched: bool = False
    fact: bool = False
    told: Diagnosis | None = None


Finder = Callable[[Any], Iterator[Finding]]
FINDERS: list[Finder] = []


def finder(function: Finder) -> Finder:
    """Register what looks for findings in what was noted."""
    FINDERS.append(function)
    return function


def ready(finding: Finding) -> Finding:
    """A finding without the attempts whose edits could not be made."""
    return replace(finding, attempts=tuple(one for one in finding.attempts if one.edits))


def findings(watcher: Any) -> list[Finding]:
    """Everything found, what is proved and weighs most first; a finder that fails is noted and left out."""
    from explainer.training.kinds import load

    load()
    found: list[Finding] = []
    for one in FINDERS:
        try:
            found += map(ready, one(watcher))
        except Exception as error:
            watcher.failed(error)
    return sorted(found, key=lambda one: (not one.proved, -one.weight))
