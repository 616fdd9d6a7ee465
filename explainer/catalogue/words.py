"""The words of symptoms and rules: jinja2 over frozen facts. Templates that only name facts never load jinja2."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from explainer.catalogue import simple

#: `{{ m.rows }}`, `{{ x.shape[-1] }}`: a name and what hangs on it.
_NAMED = re.compile(r"\{\{\s*([a-z]\w*(?:\.[a-zA-Z]\w*|\[-?\d+\])*)\s*\}\}")
_STEP = re.compile(r"\.?([a-zA-Z]\w*)|\[(-?\d+)\]")
_WHOLE = re.compile(r"\{\{((?:(?!\}\}|\{\{).)*)\}\}", re.DOTALL)
_SPACES = re.compile(r"(?<=\S)  +")
#: No text that a template makes is longer; a repeated string that would be is refused.
LONGEST = 20_000


class WordsError(Exception):
    """Raised where a template names what is not there, or cannot be evaluated."""


def in_language(texts: Mapping[str, Any], language: str) -> Any:
    """The text in a language ("ko", "zh-CN"), in English where there is none."""
    return texts.get(language) or texts.get(re.split("[-_]", language)[0].lower()) or texts["en"]


def words(template: str, names: Mapping[str, Any]) -> str:
    """A template's text. Raises WordsError where a name is absent or its value is none."""
    if "{" not in template:
        return template
    _only_frozen(names)
    return _SPACES.sub(" ", _guarded(_text(template), names, template)).strip()


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
    """An expression's value; by jinja2 where it is not as simple as it looks, or names what is not there."""
    tree = simple.parsed(expression)
    if tree is not None:
        with suppress(Exception):
            return simple.evaluated(tree, names, attribute)
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


# -- plain templates ------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def _text(template: str) -> Callable[[Mapping[str, Any]], str]:
    plain = _plain(template)
    return plain if plain is not None else _rendered(template)


def _plain(template: str) -> Callable[[Mapping[str, Any]], str] | None:
    """A renderer for a template of text and names alone, None for any other."""
    pieces = _NAMED.split(template)
    if any("{{" in text or "{%" in text or "{#" in text for text in pieces[::2]):
        return None
    ways = [[a or int(b) for a, b in _STEP.findall(name)] for name in pieces[1::2]]
    texts = pieces[::2]

    def render(names: Mapping[str, Any]) -> str:
        found = [texts[0]]
        for way, text in zip(ways, texts[1:], strict=True):
            found += (str(_printable(_follow(way, names))), text)
        return "".join(found)

    return render


def _follow(way: list[Any], names: Mapping[str, Any]) -> Any:
    found: Any = names
    for step in way:
        found = found[step] if isinstance(step, int) else attribute(found, step)
    return found


def attribute(of: Any, name: str) -> Any:
    """`of.name` as templates mean it: a mapping's item, else a field, else what `of[name]` gives."""
    if isinstance(of, Mapping) and name in of:
        return of[name]
    try:
        return getattr(of, name)
    except AttributeError:
        try:
            return of[name]
        except (TypeError, LookupError):
            raise WordsError(f"{name!r} is not there") from None


def _printable(found: Any) -> Any:
    if found is None:
        raise WordsError("a template prints none; guard it with {% if ... is not none %}")
    return found


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
        undefined=StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True, finalize=_printable,
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


def product(numbers: Iterable[int]) -> int:
    """`[16, 6, 6] | product` -> 576."""
    result = 1
    for number in numbers:
        result *= number
    return result


def shape(sizes: Iterable[int]) -> str:
    """`x.shape | shape` -> `[4, 576]`."""
    return f"[{', '.join(map(str, sizes))}]"


def by(sizes: Iterable[int]) -> str:
    """`x.shape | by` -> `4x576`."""
    return "x".join(map(str, sizes))


def size(number: float) -> str:
    """`1610612736 | size` -> `1.50 GiB`."""
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if abs(number) < 1024 or unit == "TiB":
            break
        number /= 1024
    return f"{number:.0f} bytes" if unit == "bytes" else f"{number:.2f} {unit}"


def code(text: Any) -> str:
    """`name | code` -> the name in backticks."""
    return f"`{text}`"


FILTERS = {"product": product, "shape": shape, "by": by, "size": size, "code": code}
