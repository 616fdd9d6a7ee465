"""A symptom: what torch says, every wording once, and words for when nothing more is known."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

from explainer.catalogue.schema import EXAMPLE, FAMILIES, ID, LINKS, STRINGS, TEXT, TEXTS
from explainer.frozen import frozen

_NAME = re.compile(r"\(\?P?<([A-Za-z_]\w*)>")
SOME = {"type": "string", "minLength": 1}
TITLED = {"type": "object", "additionalProperties": False, "required": ["title"], "properties": {"title": TEXT}}
SCHEMA: dict[str, Any] = {
    "type": "object", "additionalProperties": False, "required": ["id", "family", "exception", "messages", "text"],
    "properties": {
        "id": {**ID, "description": "the file's name; never changed, never used again"},
        "family": {"type": "string", "enum": list(FAMILIES)},
        "exception": {**STRINGS, "minItems": 1, "description": "last names of exceptions; [any] for any"},
        "messages": {
            "type": "array", "minItems": 1,
            "items": {
                "type": "object", "additionalProperties": False, "required": ["seen", "pattern", "says"],
                "properties": {
                    "seen": {**STRINGS, "minItems": 2, "description": 'first and last torch known to say it, or "?"'},
                    "pattern": {**SOME, "description": "searched in the message, its white space collapsed"},
                    "says": {**SOME, "description": "a real message that the pattern matches"},
                },
            },
        },
        "specific": {"type": "boolean", "description": "false for a catch-all"},
        "raised_in": {**STRINGS, "description": "the innermost frame's file holds one of these"},
        "raised_at": {**STRINGS, "description": "the innermost frame's line of code holds one of these"},
        "runner": {**STRINGS, "description": "only errors that this runner carried over"},
        "text": {
            "type": "object", "additionalProperties": False, "required": ["headline", "why"],
            "properties": {"headline": TEXT, "why": TEXT, "causes": TEXTS, "prevent": TEXT},
        },
        "fixes": {"type": "array", "items": TITLED},
        "links": LINKS,
        "near_misses": {**STRINGS, "description": '"Type: message" texts that this symptom must not match'},
        "examples": {"type": "array", "items": EXAMPLE},
    },
}  # fmt: skip


@frozen
class Message:
    """One wording: the torch versions known to say it, the pattern, and a recorded text of that form."""

    pattern: str
    says: str
    seen: tuple[str, ...] = ()


@frozen
class Symptom:
    """One symptom file. `text` is {field: {language: text}}; `fixes` mappings with a `title` by language."""

    id: str
    family: str
    exception: tuple[str, ...]
    messages: tuple[Message, ...]
    text: Mapping[str, Mapping[str, Any]]
    specific: bool = True
    raised_in: tuple[str, ...] = ()
    runner: tuple[str, ...] = ()
    raised_at: tuple[str, ...] = ()
    fixes: tuple[Mapping[str, Any], ...] = ()
    links: tuple[str, ...] = ()
    near_misses: tuple[str, ...] = ()
    examples: tuple[Mapping[str, Any], ...] = ()
    file: str = ""

    @functools.cached_property
    def captures(self) -> frozenset[str]:
        """The names that any of the patterns captures."""
        return frozenset(name for message in self.messages for name in _NAME.findall(message.pattern))


def symptom(value: Mapping[str, Any], file: str = "") -> Symptom:
    """A symptom from a document that passed the schema."""
    messages = tuple(Message(m["pattern"], m["says"], tuple(m["seen"])) for m in value["messages"])
    lists = ("exception", "raised_in", "runner", "raised_at", "fixes", "links", "near_misses", "examples")
    rest = {name: tuple(value[name]) for name in lists if name in value}
    return Symptom(
        id=value["id"], family=value["family"], messages=messages, text=value["text"],
        specific=value.get("specific", True), file=file, **rest,
    )  # fmt: skip
