"""The list of rules and symptoms, one a line, and those whose translations are missing or lost a fact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from explainer.authoring.pages import everything
from explainer.authoring.texts import lost
from explainer.catalogue import Catalogue, Rule, Symptom
from explainer.catalogue.schemas import FAMILIES

#: The languages that the catalogue's own files have.
LANGUAGES = ("en", "ko", "zh")


def rows(catalogue: Catalogue, family: str | None, missing: str | None, stale: bool) -> Iterator[str]:
    """One line each, by family: id, kind, and what it answers."""
    for one in sorted(everything(catalogue), key=_order):
        if family not in (None, one.family) or (missing and not lacks(one, missing)):
            continue
        if stale and not (left := lost(said(one))):
            continue
        kind = "symptom" if isinstance(one, Symptom) else "rule"
        yield f"{one.family:<14} {kind:<8} {one.id:<36} {'; '.join(left) if stale else _about(one)}"


def _order(one: Rule | Symptom) -> tuple[int, bool, str]:
    return FAMILIES.index(one.family), isinstance(one, Symptom), one.id


def lacks(one: Rule | Symptom, language: str) -> bool:
    """Whether any text of a file has no words in a language."""
    return any(language not in texts for texts in _texts(said(one)))


def said(one: Rule | Symptom) -> dict[str, Any]:
    """The parts of a file that hold texts."""
    parts = {"text": one.text, "fixes": [*one.fixes]}
    if isinstance(one, Rule):
        return {**parts, "labels": [*one.labels], "notes": [*one.notes]}
    return {**parts, "messages": [{"pattern": message.pattern} for message in one.messages]}


def _texts(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping) and "en" in value:
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _about(one: Rule | Symptom) -> str:
    if isinstance(one, Symptom):
        return " ".join(one.messages[0].says.split())
    shown = (e["expect"]["headline"] for e in one.examples if "headline" in e.get("expect", {}))
    return next(shown, one.text["headline"]["en"])
