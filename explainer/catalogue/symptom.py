"""A symptom: what torch says, every wording once, and words for when nothing more is known."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from explainer.frozen import frozen
from explainer.patterns import Pattern

_NAME = Pattern(r"\(\?P?<([A-Za-z_]\w*)>")


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
    below: tuple[str, ...] = ()
    fixes: tuple[Mapping[str, Any], ...] = ()
    links: tuple[str, ...] = ()
    near_misses: tuple[str, ...] = ()
    examples: tuple[Mapping[str, Any], ...] = ()
    file: str = ""

    @functools.cached_property
    def asks(self) -> bool:
        """Whether its headline says what the message asks for."""
        return any("crash.asks" in one for one in self.text["headline"].values())

    @functools.cached_property
    def captures(self) -> frozenset[str]:
        """The names that any of the patterns captures."""
        return frozenset(name for message in self.messages for name in _NAME.findall(message.pattern))


def symptom(value: Mapping[str, Any], file: str = "") -> Symptom:
    """A symptom from a document that passed the schema."""
    messages = tuple(Message(m["pattern"], m["says"], tuple(m["seen"])) for m in value["messages"])
    lists = ("exception", "raised_in", "runner", "raised_at", "below", "fixes", "links", "near_misses", "examples")
    rest = {name: tuple(value[name]) for name in lists if name in value}
    return Symptom(
        id=value["id"], family=value["family"], messages=messages, text=value["text"],
        specific=value.get("specific", True), file=file, **rest,
    )  # fmt: skip
