"""What a test of parameters' names may have meant where no name passes it: other texts, another way to compare."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from explainer.frozen import frozen
from explainer.probes.attributes import alike
from explainer.probes.literals import Text
from explainer.source import Source

#: What people call the last layer of a model.
_HEADS = ("head", "fc", "classifier", "linear", "cls", "out", "output", "last", "final", "decoder", "predictor", "proj")
#: How alike two names must be for one to be meant by the other; from 0 to 1 as difflib counts.
_ALIKE = 0.7
Change = tuple[Source, ast.expr, str]


@frozen
class Test:
    """A test of a parameter's `name` in a loop: the `way` it is compared, and the texts that it is compared with.

    Ways are in, startswith, endswith, equal, first (its part before a dot), search, match, fullmatch. `given` is
    the source of what holds the texts, where they do not stand in the test.
    """

    source: Source
    node: ast.expr
    name: str
    way: str
    texts: tuple[Text, ...]
    given: str = ""

    def holds(self, name: str) -> bool:
        """Whether a parameter of this name passes for one of the texts."""
        return any(passes(name, self.way, one.value) for one in self.texts)


def passes(name: str, way: str, text: str) -> bool:
    """Whether a name passes a test with one text; one that cannot be read as an expression passes."""
    if way in ("search", "match", "fullmatch"):
        try:
            return getattr(re, way)(text, name) is not None
        except re.error:
            return True
    tests = {"in": text in name, "equal": text == name, "first": name.split(".")[0] == text}
    return tests[way] if way in tests else bool(getattr(name, way)(text))


def changes_of(test: Test, module: Any) -> Iterator[Change]:
    """The changes after which some of a module's parameters pass, the likeliest first: where, and what to put there."""
    names = [key for key, _ in module.named_parameters()]
    yield from _elsewhere(test, names)
    for text in test.texts:
        yield from _spelt(text, names, test.way)
        yield from _of_class(test, text.value, module)
        yield from _last(text, module, test)


def _elsewhere(test: Test, names: list[str]) -> Iterator[Change]:
    """The text stands in names, but not where it is looked for: `"head" in name`."""
    texts = [one.value for one in test.texts]
    if test.way == "in" or not any(_part(text, name) for text in texts for name in names):
        return
    if len(texts) == 1 and not test.given:
        yield test.source, test.node, _turned(test, f"{_quoted(texts[0])} in {test.name}")
    elif test.given:
        yield test.source, test.node, _turned(test, f"any(part in {test.name} for part in {test.given})")


def _part(text: str, name: str) -> bool:
    plain = text.strip(".")
    return bool(plain) and f".{plain}." in f".{name}."


def _turned(test: Test, text: str) -> str:
    """The same where the comparison is with `not`."""
    against = isinstance(test.node, ast.Compare) and isinstance(test.node.ops[0], (ast.NotIn, ast.NotEq))
    return (text.replace(" in ", " not in ", 1) if text[0] in "\"'" else f"not {text}") if against else text


def _spelt(text: Text, names: list[str], way: str) -> Iterator[Change]:
    """A part of the names that is written nearly the same: `classifer`, `Head`, `layer_4`."""
    plain = text.value.strip("._*^$\\")
    parts = dict.fromkeys(part for name in names for part in name.split(".") if not part.isdigit())
    ranked = sorted(parts, key=lambda part: -alike(plain, part))
    if ranked and alike(plain, ranked[0]) >= _ALIKE:
        meant = text.value.replace(plain, ranked[0]) if plain else ranked[0]
        if any(passes(name, way, meant) for name in names):
            yield text.source, text.node, _quoted(meant, text.written)


def _of_class(test: Test, text: str, module: Any) -> Iterator[Change]:
    """The text is a class's, not an attribute's: the names of what the modules of that class hold themselves."""
    plain = re.sub(r"[\W_]", "", text).lower()
    owners = [(key, one) for key, one in module.named_modules() if key and plain in type(one).__name__.lower()]
    if len(plain) < 2 or not owners or len(test.texts) > 1:
        return
    own = dict.fromkeys(f".{key}" for _, one in owners for key, _ in one.named_parameters(recurse=False))
    ends = [f".{key.rpartition('.')[2]}" for key, _ in owners]
    foreign = not type(owners[0][1]).__module__.startswith("torch.")
    if foreign and own:
        yield test.source, test.node, _turned(test, f"{test.name}.endswith({_tuple(list(own))})")
    elif not any(end[1:].isdigit() for end in ends):
        each = list(dict.fromkeys(f"{end}." for end in ends))
        several = f"any(part in {test.name} for part in {_tuple(each)})"
        yield test.source, test.node, _turned(test, several if len(each) > 1 else f"{_quoted(each[0])} in {test.name}")


def _last(text: Text, module: Any, test: Test) -> Iterator[Change]:
    """Another word for the last layer: what the model calls it."""
    if not any(word in re.split(r"[\W_\d]+", text.value.lower()) for word in _HEADS):
        return
    way = _way_to_last(module)
    if way and way[-1].isdigit():
        if len(test.texts) == 1:
            yield test.source, test.node, _turned(test, f"{test.name}.startswith({_quoted('.'.join(way) + '.')})")
    elif way:
        whole = ".".join(way)
        meant = {"in": way[-1], "search": way[-1], "first": way[0], "startswith": whole, "match": whole}.get(test.way)
        if meant is not None:
            yield text.source, text.node, _quoted(meant, text.written)


def _way_to_last(module: Any) -> list[str]:
    """The path of a model's last layer, through owners that hold but one."""
    way: list[str] = []
    held = [module]
    while len(held) == 1:
        named = [(key, one) for key, one in held[0].named_children() if next(one.parameters(), None) is not None]
        way += [key for key, _ in named[-1:]]
        held = [one for _, one in named]
    return way


def _quoted(text: str, like: str = '"') -> str:
    mark = "'" if like.lstrip("rRbBuU").startswith("'") else '"'
    return f"{mark}{text}{mark}"


def _tuple(texts: list[str]) -> str:
    return f"({', '.join(map(_quoted, texts))})" if len(texts) > 1 else _quoted(texts[0])
