"""The words of symptoms and rules: jinja2 over frozen facts, which is loaded only for what is not plain."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from explainer.catalogue import bounds, simple
from explainer.catalogue.bounds import Exceeded, WordsError
from explainer.catalogue.plain import renderer
from explainer.catalogue.simple import Unlike
from explainer.patterns import Pattern

_WHOLE = Pattern(r"\{\{((?:(?!\}\}|\{\{).)*)\}\}", re.DOTALL)
_SPACES = Pattern(r"(?<=\S)  +")
#: A line end of the file, or a left out part, after what needs no space behind it.
_WIDE = Pattern(r"(?<=[。，；：！？）]) +")


def in_language(texts: Mapping[str, Any], language: str) -> Any:
    """The text in a language ("ko", "zh-CN"), in English where there is none."""
    found = texts.get(language)
    return found or texts.get(re.split("[-_]", language)[0].lower()) or texts["en"]


def words(template: str, names: Mapping[str, Any]) -> str:
    """A template's text. Raises WordsError where a name is absent or its value is none."""
    if "{" not in template:
        return template if template.isascii() else _tidy(template)
    _only_frozen(names)
    return _tidy(_guarded(_text, template, names))


def _tidy(text: str) -> str:
    """No double spaces, and none after full-width punctuation."""
    text = _SPACES.sub(" ", text) if "  " in text else text
    return (text if text.isascii() else _WIDE.sub("", text)).strip()


def holds(expression: str, names: Mapping[str, Any]) -> bool:
    """Whether a jinja expression is true. Raises WordsError where a name is absent."""
    _only_frozen(names)
    return bool(_guarded(_evaluated, expression, names))


def value(template: Any, names: Mapping[str, Any]) -> Any:
    """A template's value as what it is: `{{ x.shape[-1] }}` gives an int; lists and mappings are gone into."""
    if isinstance(template, Mapping):
        return {name: value(item, names) for name, item in template.items()}
    if isinstance(template, (list, tuple)):
        return [value(item, names) for item in template]
    whole = _WHOLE.fullmatch(template.strip()) if isinstance(template, str) else None
    if whole is None:
        return words(template, names) if isinstance(template, str) else template
    _only_frozen(names)
    return _guarded(_evaluated, whole.group(1), names)


def _evaluated(expression: str, names: Mapping[str, Any]) -> Any:
    """An expression's value; by jinja2 where it is not as simple as it looks."""
    tree = simple.parsed(expression)
    if tree is not None:
        with suppress(Unlike):
            return simple.evaluated(tree, names)
    return _defined(_expression(expression)(**names))


def _guarded(render: Callable[[str, Mapping[str, Any]], Any], template: str, names: Mapping[str, Any]) -> Any:
    if len(template) > bounds.WRITTEN:
        raise Exceeded(f"a template has {len(template)} characters: {template[:60]!r}...")
    try:
        return bounds.bounded(render, template, names)
    except Exceeded as error:
        raise Exceeded(f"{error}: {template[:60]!r}") from None
    except WordsError:
        raise
    except Exception as error:
        raise WordsError(f"{type(error).__name__}: {error} in {template[:200]!r}") from None


def _defined(found: Any) -> Any:
    if type(found).__name__ == "StrictUndefined":
        str(found)
    return found


def _text(template: str, names: Mapping[str, Any]) -> str:
    plain = _plain(template)
    if plain is not None:
        try:
            return plain(names)
        except Unlike:
            pass
    return str(_rendered(template)(names))


_plain = functools.lru_cache(maxsize=4096)(renderer)


# -- everything else: jinja2's sandbox ------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def _rendered(template: str) -> Callable[[Mapping[str, Any]], str]:
    from jinja2 import TemplateSyntaxError

    try:
        made = _sandbox(template).from_string(template)
    except TemplateSyntaxError as error:
        raise WordsError(f"{error.message} in {template[:200]!r}") from None
    return lambda names: _together(made.generate(names))


def _together(pieces: Iterable[str]) -> str:
    """The pieces that a template makes, as far as they are looked at."""
    found, length = [], 0
    for piece in pieces:
        found.append(piece)
        length += len(piece)
        bounds.spend(1)
        if length > bounds.LONGEST:
            raise Exceeded(f"it makes a text of more than {bounds.LONGEST} characters")
    return "".join(found)


@functools.lru_cache(maxsize=4096)
def _expression(expression: str) -> Callable[..., Any]:
    from jinja2 import TemplateSyntaxError

    try:
        return _sandbox(expression).compile_expression(expression.strip(), undefined_to_none=False)
    except TemplateSyntaxError as error:
        raise WordsError(f"{error.message} in {expression[:200]!r}") from None


def _sandbox(template: str) -> Any:
    from explainer.catalogue.sandbox import environment

    bounds.spend(len(template) // 4)  # to compile it
    return environment()


# -- what templates may see and use ---------------------------------------------------------------------------------

_FROZEN: set[type] = {str, int, float, bool, type(None), tuple, list, dict, frozenset, range, complex}


def _only_frozen(names: Mapping[str, Any]) -> None:
    """Refuse live objects: a template could change them (`{{ x.add_(1) }}`)."""
    for name, item in names.items():
        if type(item) not in _FROZEN:
            if not type(item).__module__.startswith("explainer.") and type(item).__name__ != "mappingproxy":
                raise WordsError(f"{name} is a live object ({type(item).__name__}), not a fact")
            _FROZEN.add(type(item))
