"""Where settings get their values, and what decides how often a statement runs: loops, fields, keywords, constants."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from explainer.bindings import named_values
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place
from explainer.source import Source, loaded, walked

#: How many places that give one setting its value are told apart.
_MOST = 4
#: How far properties are followed that read others.
_DEEP = 2
#: How many values of unpacked dicts are looked at.
_MOST_UNPACKED = 12


def loops(place: Place) -> Iterator[ast.expr]:
    """What the loops around a place in its function run over, the innermost first."""
    node = place.source.parent_of(place.node)
    while node is not None and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        if isinstance(node, (ast.For, ast.comprehension)):
            yield node.iter
        elif isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)):
            yield from (one.iter for one in node.generators)
        elif isinstance(node, ast.While):
            yield node.test
        node = place.source.parent_of(node)


def settings(node: ast.AST, evidence: Evidence, deep: int = _DEEP) -> Iterator[Place]:
    """The places that give settings their values which an expression reads: `cfg.depth`, `args["depth"]`, `DEPTH`.

    Behind one that a property computes, those that it reads.
    """
    for name in _read(node):
        if name not in evidence.settings:
            evidence.settings[name] = [place for source in evidence.sources_seen() for place in _given(source, name)]
        if len(evidence.settings[name]) <= _MOST:
            for place in evidence.settings[name]:
                yield place
                computed = isinstance(place.source.function_at(place.line), ast.FunctionDef)
                yield from settings(place.node, evidence, deep - 1) if computed and deep else ()
    if any(isinstance(one, ast.keyword) and one.arg is None for one in walked(node)):
        if "**" not in evidence.settings:
            evidence.settings["**"] = list(_unpacked(evidence))
        yield from evidence.settings["**"][:_MOST_UNPACKED]


def defaults(place: Place, scope: Mapping[str, Any]) -> Iterator[Place]:
    """The defaults of the parameters that an expression reads, where they may be what was read: `def f(stride=2)`."""
    function = place.source.function_at(place.line)
    wanted = loaded(place.node)
    for name, default in named_values(function.args) if function is not None else ():
        plain = isinstance(default, ast.Constant)
        if name in wanted and not (plain and scope.get(name, default.value) != default.value):  # type: ignore[attr-defined]
            yield place.at(default)


def _unpacked(evidence: Evidence) -> Iterator[Place]:
    """The values of the dicts with a name that the program unpacks for a call: `istft(spec, **options)`."""
    nodes = [(source, node) for source in evidence.sources_seen() for node in source.nodes()]
    words = [one.value for _, one in nodes if isinstance(one, ast.keyword) and one.arg is None]
    names = {one.id for one in words if isinstance(one, ast.Name)}
    for source, node in nodes:
        if isinstance(node, ast.Assign) and any(isinstance(one, ast.Name) and one.id in names for one in node.targets):
            made = node.value
            if isinstance(made, ast.Dict):
                yield from (Place(source, one) for one in made.values)
            elif isinstance(made, ast.Call) and isinstance(made.func, ast.Name) and made.func.id == "dict":
                yield from (Place(source, one.value) for one in made.keywords if one.arg is not None)


def _read(node: ast.AST) -> Sequence[str]:
    names = []
    for one in walked(node):
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load):
            names.append(one.attr)
        elif (
            isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Constant) and isinstance(one.slice.value, str)
        ):
            names.append(one.slice.value)
        elif isinstance(one, ast.Name) and one.id.isupper():
            names.append(one.id)
    return list(dict.fromkeys(names))


def _given(source: Source, name: str) -> Iterator[Place]:
    for node in source.nodes():
        value: ast.expr | None = None
        if isinstance(node, ast.ClassDef):
            value = next((one.value for one in node.body if isinstance(one, ast.AnnAssign)
                          and isinstance(one.target, ast.Name) and one.target.id == name), None)  # fmt: skip
            value = value or _computed(node, name)
        elif isinstance(node, ast.Dict):
            value = next((given for key, given in zip(node.keys, node.values, strict=True)
                          if isinstance(key, ast.Constant) and key.value == name), None)  # fmt: skip
        elif isinstance(node, ast.Call):
            value = _of_call(node, name)
        elif isinstance(node, ast.Assign) and source.parent_of(node) is source.tree:
            named = any(isinstance(one, ast.Name) and one.id == name for one in node.targets)
            value = node.value if named else None
        if value is not None:
            yield Place(source, value)


def _computed(owner: ast.ClassDef, name: str) -> ast.expr | None:
    """What a property of a class computes in one line."""
    for one in owner.body:
        if (
            isinstance(one, ast.FunctionDef)
            and one.name == name
            and any("property" in ast.unparse(mark) for mark in one.decorator_list)
        ):
            last = one.body[-1]
            return last.value if isinstance(last, ast.Return) else None
    return None


def _of_call(node: ast.Call, name: str) -> ast.expr | None:
    """A keyword's number, or the default of an option of the command line."""
    word = next((one.value for one in node.keywords if one.arg == name), None)
    if isinstance(word, ast.Constant):
        return word
    first = node.args[0] if node.args else None
    option = isinstance(first, ast.Constant) and isinstance(first.value, str) and first.value.startswith("-")
    if not option or first.value.lstrip("-").replace("-", "_") != name:  # type: ignore[union-attr]
        return None
    return next((one.value for one in node.keywords if one.arg == "default"), None)
