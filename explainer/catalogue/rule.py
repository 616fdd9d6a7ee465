"""A rule: one cause, with the symptoms under which it is looked for, the evidence that decides, words and edits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from explainer.diagnosis import Certainty
from explainer.frozen import frozen

#: The symptom of what no symptom lists: rules under it are weighed whatever a check says.
UNLISTED = "unlisted"
#: Probes that read the message alone; all others need frames.
TOLD = ("refused_argument", "refused_global", "graph_break")


@frozen
class Rule:
    """One rule file. `facts` is {name: {probe, arguments...}}; `text` is {field: {language: text}}."""

    id: str
    status: str
    family: str
    symptoms: tuple[str, ...]
    text: Mapping[str, Mapping[str, str]]
    outranks: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    let: Mapping[str, Any] = field(default_factory=dict)
    require: tuple[str, ...] = ()
    certainty: Certainty | None = None
    culprit: str | None = None
    labels: tuple[Mapping[str, Any], ...] = ()
    evidence: tuple[str, ...] = ()
    fixes: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[Mapping[str, str], ...] = ()
    examples: tuple[Mapping[str, Any], ...] = ()
    file: str = ""


def rule(value: Mapping[str, Any], file: str = "") -> Rule:
    """A rule from a document that passed the schema."""
    given: dict[str, Any] = {name: tuple(item) if isinstance(item, list) else item for name, item in value.items()}
    return Rule(**given, file=file)
