"""A rule: one cause, with the symptoms under which it is looked for, the evidence that decides, words and edits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from explainer.catalogue.schema import CERTAINTIES, EXAMPLE, FAMILIES, ID, LINKS, STRINGS, TEXT
from explainer.diagnosis import Certainty
from explainer.frozen import frozen

IDS = {"type": "array", "items": ID}
EDIT = {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}}}
SCHEMA: dict[str, Any] = {
    "type": "object", "additionalProperties": False,
    "required": ["id", "status", "family", "symptoms", "text", "examples"],
    "properties": {
        "id": {**ID, "description": "the file's name; never changed, never used again"},
        "status": {"type": "string", "enum": ["stable", "beta", "retired"]},
        "family": {"type": "string", "enum": list(FAMILIES)},
        "symptoms": {**IDS, "minItems": 1, "description": "ids of the symptoms under which this cause is looked for"},
        "outranks": {**IDS, "description": "rules that this one comes before where both hold"},
        "links": LINKS,
        "facts": {
            "type": "object", "description": "name -> {probe: name, its arguments, optional: true}",
            "propertyNames": {"pattern": "^[a-z_][a-z0-9_]*$"},
            "additionalProperties": {
                "type": "object", "required": ["probe"],
                "properties": {"probe": {"type": "string"}, "optional": {"type": "boolean"}},
            },
        },
        "let": {
            "type": "object", "description": "name -> jinja template; later ones see earlier ones",
            "propertyNames": {"pattern": "^[a-z_][a-z0-9_]*$"},
        },
        "require": {**STRINGS, "description": "jinja expressions, all of which must hold"},
        "certainty": {"type": "string", "enum": CERTAINTIES, "description": "the most it may claim"},
        "culprit": {"type": "string", "description": "the fact whose span is the line to edit"},
        "labels": {
            "type": "array",
            "items": {
                "type": "object", "additionalProperties": False, "required": ["at", "text"],
                "properties": {"at": {"type": "string"}, "text": TEXT},
            },
        },
        "evidence": {**STRINGS, "description": "facts to show as rows of the operand table"},
        "text": {
            "type": "object", "additionalProperties": False, "required": ["headline", "why"],
            "properties": {"headline": TEXT, "why": TEXT, "from": TEXT, "prevent": TEXT},
        },
        "fixes": {
            "type": "array",
            "items": {
                "type": "object", "additionalProperties": False, "required": ["title"],
                "properties": {
                    "id": ID, "title": TEXT, "needs": STRINGS, "when": {"type": "string"},
                    "edit": EDIT, "edits": {"type": "array", "items": EDIT, "minItems": 1},
                    "check": {"type": "string", "enum": ["operator", "forward", "backward", "program"]},
                },
            },
        },
        "notes": {"type": "array", "items": TEXT},
        "examples": {"type": "array", "items": EXAMPLE, "minItems": 2},
    },
}  # fmt: skip


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
