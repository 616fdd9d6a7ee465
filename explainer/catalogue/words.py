"""The words of symptoms and rules: jinja2 over frozen facts, which is loaded only for what is not plain."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from explainer.catalogue import simple
from explainer.catalogue.filters import FILTERS
from explainer.catalogue.plain import printable, renderer
from explainer.catalogue.simple import Unlike, WordsError
from explainer.patterns import Pattern

_WHOLE = Pattern(r"\{\{((?:(?!\}\}|\{\{).)*)\}\}", re.DOTALL)
_SPACES = Pattern(r"(?<=\S)  +")
#: No text that a template makes is longer; a repeated string that would be is refused.
LONGEST = 20_000


def in_language(texts: Mapping[str, Any], language: str) -> Any:
    """The text in a language ("ko", "zh-CN"), in English where there is none."""
    return texts.get(language) or texts.get(re.split("[-_]", language)[0].lower()) or texts["en"]


def words(template: str, names: Mapping[str, Any]) -> str:
    """A template's text. Raises WordsError where a name is absent or its value is none."""
    if "{" not in template:
        return template
    _only_frozen(names)
    return _SPACES.sub(" ", _guarded(lambda known: _text(template, known), names, template)).strip()


def holds(expression: str, names: Mapping[str, Any]) -> bool:
    """Whether a jinja expression is true. Raises WordsError where a name is absent."""
    _only_frozen(names)
    return _guarded(lambda known: bool(_evaluated(expression, known)), names, expression)


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
    return _guarded(lambda known: _evaluated(whole.group(1), known), names, template)


def _evaluated(expression: str, names: Mapping[str, Any]) -> Any:
    """An expression's value; by jinja2 where it is not as simple as it looks."""
    tree = simple.parsed(expression)
    if tree is not None:
        with suppress(Unlike):
            return simple.evaluated(tree, names)
    return _defined(_expression(expression)(**names))


def _guarded(render: Callable[[Mapping[str, Any]], Any], names: Mapping[str, Any], template: str) -> Any:
    try:
        return render(names)
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
        with suppress(Unlike):
            return plain(names)
    return str(_rendered(template)(names))


_plain = functools.lru_cache(maxsize=4096)(renderer)


# -- everything else: jinja2's sandbox ------------------------------------------------------------------------------


@functools.cache
def environment() -> Any:
    """The sandbox in which templates run: no private names, no calls of what facts hold, bounded texts."""
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Sandbox(ImmutableSandboxedEnvironment):
        intercepted_binops = frozenset(["*", "**"])

        def getattr(self, obj: Any, name: str) -> Any:
            if isinstance(obj, Mapping) and name in obj:
                return obj[name]
            return super().getattr(obj, name)

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            _bounded(operator, left, right)
            return super().call_binop(context, operator, left, right)

    made = Sandbox(
        undefined=StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True, finalize=printable,
        cache_size=0, optimized=False,
    )  # fmt: skip
    made.globals = {name: made.globals[name] for name in ("range", "dict", "namespace")}
    made.filters.update(FILTERS)
    return made


def _bounded(operator: str, left: Any, right: Any) -> None:
    """Refuse a product or a power whose result is too large to be meant."""
    lengthy = hasattr(left, "__len__") or hasattr(right, "__len__")
    sizes = [len(side) if hasattr(side, "__len__") else abs(side) for side in (left, right)]
    if (lengthy and sizes[0] * sizes[1] > LONGEST) or (operator == "**" and (sizes[1] > 64 or sizes[0] > 1e6)):
        raise WordsError(f"{operator} would make too large a value")


@functools.lru_cache(maxsize=4096)
def _rendered(template: str) -> Callable[[Mapping[str, Any]], str]:
    from jinja2 import TemplateSyntaxError

    try:
        return environment().from_string(template).render
    except TemplateSyntaxError as error:
        raise WordsError(f"{error.message} in {template[:200]!r}") from None


@functools.lru_cache(maxsize=4096)
def _expression(expression: str) -> Callable[..., Any]:
    from jinja2 import TemplateSyntaxError

    try:
        return environment().compile_expression(expression.strip(), undefined_to_none=False)
    except TemplateSyntaxError as error:
        raise WordsError(f"{error.message} in {expression[:200]!r}") from None


# -- what templates may see and use ---------------------------------------------------------------------------------

_FROZEN: set[type] = {str, int, float, bool, type(None), tuple, list, dict, frozenset, range, complex}


def _only_frozen(names: Mapping[str, Any]) -> None:
    """Refuse live objects: a template could change them (`{{ x.add_(1) }}`)."""
    for name, item in names.items():
        if type(item) not in _FROZEN:
            if not type(item).__module__.startswith("explainer.") and type(item).__name__ != "mappingproxy":
                raise WordsError(f"{name} is a live object ({type(item).__name__}), not a fact")
            _FROZEN.add(type(item))
