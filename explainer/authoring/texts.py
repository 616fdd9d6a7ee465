"""Checks the words of rule files: templates that parse, the same facts in every language, each language's habits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from explainer.catalogue.document import Path_
from explainer.catalogue.sandbox import environment, refused
from explainer.patterns import Pattern

#: A particle right after a placeholder would have to agree with a word that is not known yet.
PARTICLE = Pattern(r"\}\}`?(?:은|는|이|가|을|를|과|와|으로|로|이나|나)(?=[\s,.)]|$)")
HALF_WIDTH = Pattern(r"[一-鿿][,;:!?](?:\s|[一-鿿]|$)")
#: What a template prints, its first name and field.
PRINTED = Pattern(r"\{\{-?\s*\(?([a-z_]\w*(?:\.\w+)?)")
#: The groups of a pattern, and those that capture a number.
NAMES, NUMBERS = Pattern(r"\(\?P<(\w+)>"), Pattern(r"\(\?P<(\w+)>-?\\d")
#: `[batch, rows]`: a shape keeps its half-width commas.
BRACKETS = Pattern(r"\[[^\]]*\]|`[^`]*`")
Found = Iterator[tuple[Path_, str]]


def templates(value: Any, way: Path_ = ()) -> Iterator[tuple[Path_, str, str]]:
    """Every text of a file with the way to it and its language."""
    if isinstance(value, Mapping) and "en" in value:
        for language, item in value.items():
            for place, text in enumerate(item) if isinstance(item, list) else [(None, item)]:
                yield (*way, language, *([] if place is None else [place])), language, text
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from templates(item, (*way, name))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from templates(item, (*way, place))


def problems(value: Mapping[str, Any]) -> Found:
    """What is wrong with the texts of one file."""
    said = {field: value[field] for field in ("text", "fixes", "labels", "notes", "messages") if field in value}
    for way, language, text in templates(said):
        yield from ((way, wrong) for wrong in _of_text(text, language))
    yield from _of_languages(said)


def _of_text(text: str, language: str) -> Iterator[str]:
    from jinja2 import TemplateSyntaxError, nodes

    try:
        tree = environment().parse(text)
    except TemplateSyntaxError as error:
        yield f"is no template: {error.message}"
        return
    yield from refused(tree)
    for kind, known in ((nodes.Filter, environment().filters), (nodes.Test, environment().tests)):
        for node in tree.find_all(kind):
            if node.name not in known:
                yield f"there is no {kind.__name__.lower()} {node.name!r}"
    if language == "ko" and (found := PARTICLE.search(text)):
        yield f"a Korean particle stands right after a placeholder: {found.group()!r}; reword the sentence"
    if language == "zh" and (found := HALF_WIDTH.search(BRACKETS.sub("", text))):
        yield f"Chinese takes full-width punctuation: {found.group()!r}"


def _of_languages(said: Mapping[str, Any]) -> Found:
    for text in lost(said):
        yield _first(said, text.split()[0]), text


def lost(said: Mapping[str, Any]) -> list[str]:
    """Which languages print less than English does anywhere in the file. English words of a message may be left out."""
    printed: dict[str, set[str]] = {}
    for _, language, text in templates(said):
        printed.setdefault(language, set()).update(PRINTED.findall(text))
    words = {f"m.{name}" for name in NAMES.findall(str(said.get("messages")))} - _numbers(said)
    left = {language: printed.get("en", set()) - printed[language] - words for language in printed}
    return [f"{language} never prints {', '.join(sorted(names))}" for language, names in left.items() if names]


def _numbers(said: Mapping[str, Any]) -> set[str]:
    return {f"m.{name}" for name in NUMBERS.findall("".join(one["pattern"] for one in said.get("messages", ())))}


def _first(said: Mapping[str, Any], language: str) -> Path_:
    return next(way for way, found, _ in templates(said) if found == language)


def named(text: str) -> set[str]:
    """What a template prints or asks for: `m.rows`, `layer.in_features`; names that it sets itself are left out."""
    from jinja2 import TemplateSyntaxError, nodes

    try:
        tree = environment().parse(text)
    except TemplateSyntaxError:
        return set()
    own = {node.name for node in tree.find_all(nodes.Name) if node.ctx in ("store", "param")}
    found = set()
    for node in tree.find_all((nodes.Getattr, nodes.Name)):
        if isinstance(node, nodes.Getattr) and isinstance(node.node, nodes.Name):
            found.add((node.node.name, node.attr))
        elif isinstance(node, nodes.Name):
            found.add((node.name, ""))
    dotted = {f"{name}.{attribute}" for name, attribute in found if attribute and name not in own}
    bases = {name.split(".")[0] for name in dotted}
    return dotted | {name for name, attribute in found if not attribute and name not in own | bases}
