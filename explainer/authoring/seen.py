"""What a rule's own example showed: the values that its words asked of the facts, kept so that a page can say them.

A page is read where no torch is, and in every language: `rules/seen.jsonl` holds a line a rule, made by
`explain rules docs --run-examples`.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from explainer.authoring.texts import templates
from explainer.catalogue import Rule, sources
from explainer.catalogue.bounds import WordsError
from explainer.catalogue.words import words

NAME = "seen.jsonl"
#: The key of what an object is as text; of the parts of an object, and of the items of a tuple, in the file.
_TEXT, _PARTS, _ITEMS = "", "parts", "items"
_PLAIN = (str, int, float, bool, type(None))


class Asked:
    """Stands before a fact while words are made, and keeps what they ask of it."""

    def __init__(self, fact: Any):
        self.fact_, self.parts_ = fact, dict[str, Any]()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if isinstance(self.fact_, Mapping) and name in self.fact_:
            return self._kept(name, self.fact_[name])
        return self._kept(name, getattr(self.fact_, name))

    def __getitem__(self, name: Any) -> Any:
        return self._kept(str(name), self.fact_[name])

    def __str__(self) -> str:
        return self._kept(_TEXT, str(self.fact_))

    def _kept(self, name: str, value: Any) -> Any:
        if name not in self.parts_:
            self.parts_[name] = _before(value)
        return self.parts_[name]


class Seen:
    """What `Asked` kept, in the place of the fact."""

    def __init__(self, parts: Mapping[str, Any]):
        self.parts_ = {name: _back(value) for name, value in parts.items()}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self.parts_:
            raise AttributeError(name)
        return self.parts_[name]

    def __getitem__(self, name: Any) -> Any:
        return self.parts_[str(name)]

    def __str__(self) -> str:
        return self.parts_[_TEXT]


def asked(rule: Rule, names: Mapping[str, Any]) -> dict[str, Any] | None:
    """The values that the words of a rule ask of `names`, as JSON data; None where they say less."""
    before = {name: _before(value) for name, value in names.items()}
    said = {text: _said(text, before) for _, _, text in _texts(rule)}
    found = {name: data for name, value in before.items() if (data := _data(value)) != {_PARTS: {}}}
    again = {name: _back(value) for name, value in json.loads(json.dumps(found)).items()}
    same = said == {text: _said(text, names) for text in said} == {text: _said(text, again) for text in said}
    return found if same else None


def kept() -> Mapping[str, Mapping[str, Any]]:
    """Names for the words of rules, by the rule's id, as its example gave them; empty without the file."""
    return {name: {key: _back(value) for key, value in data.items()} for name, data in _read().items()}


@functools.cache
def _read() -> Mapping[str, Mapping[str, Any]]:
    try:
        lines = (sources.builtin() / NAME).read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    return {one["rule"]: one["names"] for one in map(json.loads, lines)}


def write(folder: Path, found: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the file of a folder of rules, in the order of their ids."""
    rows = [json.dumps({"rule": name, "names": found[name]}, ensure_ascii=False) for name in sorted(found)]
    (folder / NAME).write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")


def _texts(rule: Rule) -> Iterator[tuple[Any, str, str]]:
    return templates({"text": rule.text, "fixes": [*rule.fixes], "notes": [*rule.notes]})


def _said(text: str, names: Mapping[str, Any]) -> str | None:
    """A text, None where a name in it is absent: a fix whose facts the example lacks."""
    try:
        return words(text, names)
    except (WordsError, RecursionError):
        return None


def _before(value: Any) -> Any:
    """A value for words to ask: what is no plain value has its parts kept as they are asked for."""
    if isinstance(value, (list, tuple)):
        return (list if isinstance(value, list) else tuple)(_before(one) for one in value)
    return value if isinstance(value, _PLAIN) else Asked(value)


def _data(value: Any) -> Any:
    if isinstance(value, Asked):
        return {_PARTS: {name: _data(part) for name, part in value.parts_.items()}}
    if isinstance(value, tuple):
        return {_ITEMS: [_data(one) for one in value]}
    return [_data(one) for one in value] if isinstance(value, list) else value


def _back(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(_back(one) for one in value[_ITEMS]) if _ITEMS in value else Seen(value[_PARTS])
    return [_back(one) for one in value] if isinstance(value, list) else value
