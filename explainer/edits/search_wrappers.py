"""Candidates for wrappers that join what the wrapped object gives, but leave its size to that object: `__getattr__`.

`StackedFrames(env, k)` gives `k * env.size` values, and `stacked.size` is still that of `env`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Layer
from explainer.edits.place import Place, bound_above
from explainer.edits.sites import arriving, layers_hit
from explainer.edits.statements import insert_statement
from explainer.frozen import frozen
from explainer.source import Source, called

_JOINS = ("cat", "concat", "concatenate", "hstack", "stack", "pad", "repeat", "tile", "r_", "c_")
#: How many calls on the way to the layer are read, and how much more is told as a number.
_CALLS, _MOST = 6, 3


@frozen
class _Wrapper:
    """A class that hands on what it lacks: to `inner` (`self.env`), or to its base, for which `inner` is `self`."""

    source: Source
    node: ast.ClassDef
    inner: str
    start: ast.FunctionDef


def own_size(evidence: Evidence) -> Iterator[Candidate]:
    """`self.env, self.k = env, k`, then `self.size = k * self.env.size`: the size of all that the wrapper joins."""
    for layer, step in layers_hit(evidence):
        need = arriving(layer, step)
        built = layer.value(need[0]) if need is not None else None
        read = _read(layer)
        if need is None or not built or not read or need[1] <= built:
            continue
        classes = _classes(evidence)
        for wrapper in _wrappers(classes):
            for name in read:
                if not _defines(wrapper.node, name) and _known_elsewhere(classes, wrapper, name):
                    yield from _sized(evidence, wrapper, name, built, need[1])


def _read(layer: Layer) -> list[str]:
    """The attributes of other objects from which the calls that build a layer take numbers, the nearest first."""
    found: dict[str, None] = {}
    for call in layer.calls[:_CALLS]:
        function = call.place.source.function_at(call.place.span.line)
        scope: Any = function if function is not None else call.place.source.tree
        nodes = list(ast.walk(call.place.node))
        names = {one.id for one in nodes if isinstance(one, ast.Name)}
        bound = [bound_above(scope, name, call.place.span.line) for name in sorted(names)]
        nodes += [one for made in bound if made is not None for one in ast.walk(made.value)]
        attributes = [one for one in nodes if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load)]
        found.update((one.attr, None) for one in attributes if ast.unparse(one.value) not in ("nn", "torch", "self"))
    return list(found)


def _classes(evidence: Evidence) -> dict[str, tuple[Source, ast.ClassDef]]:
    nodes = ((source, node) for source in evidence.sources_seen() for node in source.nodes())
    return {node.name: (source, node) for source, node in nodes if isinstance(node, ast.ClassDef)}


def _wrappers(classes: dict[str, tuple[Source, ast.ClassDef]]) -> Iterator[_Wrapper]:
    """The classes that join something and lack attributes which the object in them, or their base, has."""
    for source, node in classes.values():
        start = next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
        bases = [base for base in map(ast.unparse, node.bases) if base in classes]
        inner = _handed_to(node) or next((found for one in bases if (found := _handed_to(classes[one][1]))), "")
        if start is not None and (inner or bases) and _joins(node):
            yield _Wrapper(source, node, inner or "self", start)


def _handed_to(node: ast.ClassDef) -> str:
    """`self.env` of `def __getattr__(self, name): return getattr(self.env, name)`."""
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__getattr__":
            for call in ast.walk(method):
                if isinstance(call, ast.Call) and called(call) == "getattr" and call.args:
                    return _held(call.args[0])
    return ""


def _held(node: ast.expr) -> str:
    """`self.env` of `self.env`, `self.__dict__["env"]` and `object.__getattribute__(self, "env")`."""
    if isinstance(node, ast.Attribute):
        return ast.unparse(node)
    key = node.slice if isinstance(node, ast.Subscript) else node.args[-1] if isinstance(node, ast.Call) else None
    return f"self.{key.value}" if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""


def _joins(node: ast.AST) -> bool:
    """Whether values are joined: by a function, or in a list of parts (`[*seen, last]`); `seen.append` is no join."""
    inside = list(ast.walk(node))
    calls = any(called(one) in _JOINS for one in inside if isinstance(one, ast.Call))
    calls = calls or any(called(one) == "append" and len(one.args) > 1 for one in inside if isinstance(one, ast.Call))
    indexed = any(isinstance(one, ast.Attribute) and one.attr in ("r_", "c_") for one in inside)
    spread = [one for one in inside if isinstance(one, (ast.List, ast.Tuple)) and isinstance(one.ctx, ast.Load)]
    return calls or indexed or any(isinstance(part, ast.Starred) for one in spread for part in one.elts)


def _joins_more(wrapper: _Wrapper) -> bool:
    """Whether one method takes what the wrapped object gives and joins it with more."""
    asked = wrapper.inner if wrapper.inner != "self" else "super()"
    methods = [one for one in wrapper.node.body if isinstance(one, ast.FunctionDef) and one is not wrapper.start]
    return any(_joins(one) and asked in ast.unparse(one) for one in methods)


def _defines(node: ast.ClassDef, name: str) -> bool:
    """Whether a class or one of its methods gives an attribute a value."""
    methods = any(isinstance(one, ast.FunctionDef) and one.name == name for one in node.body)
    stores = [one for one in ast.walk(node) if isinstance(getattr(one, "ctx", None), ast.Store)]
    own = any(isinstance(one, ast.Attribute) and ast.unparse(one) == f"self.{name}" for one in stores)
    fields = [target for one in node.body if isinstance(one, ast.Assign) for target in one.targets]
    fields += [one.target for one in node.body if isinstance(one, ast.AnnAssign)]
    return methods or own or any(name == ast.unparse(one) for one in fields)


def _known_elsewhere(classes: dict[str, tuple[Source, ast.ClassDef]], wrapper: _Wrapper, name: str) -> bool:
    others = [node for _, node in classes.values() if node is not wrapper.node]
    bases = {ast.unparse(base) for base in wrapper.node.bases}
    return any(_defines(one, name) for one in others if wrapper.inner != "self" or one.name in bases)


def _sized(evidence: Evidence, wrapper: _Wrapper, name: str, old: int, new: int) -> Iterator[Candidate]:
    last = Place(wrapper.source, wrapper.start.body[-1])
    for size in _sizes(evidence, wrapper, f"{wrapper.inner}.{name}", old, new):
        edits = partial(insert_statement, f"self.{name} = {size}", after=last)
        words: dict[str, Any] = {"name": name, "what": wrapper.node.name, "inner": wrapper.inner}
        title = "size-of-joined" if wrapper.inner != "self" else "size-of-base"
        plain = size.endswith(f" + {new - old}")
        yield from evidence.made(edits, "insert-statement", last, title, plain, old=old, value=new, **words)


def _sizes(evidence: Evidence, wrapper: _Wrapper, one: str, old: int, new: int) -> Iterator[str]:
    """What the size may be: a multiple by a number that the wrapper was given, or more by one, or by another size."""
    given = _given(evidence, wrapper)
    yield from (f"{name} * {one}" for name, values in given.items() if not values or new in [v * old for v in values])
    yield from (f"{one} + {name}" for name, values in given.items() if not values or new - old in values)
    if wrapper.inner != "self":
        yield from (f"{one} + {wrapper.inner}.{name}" for name in _asked(wrapper) if f".{name}" not in one)
    if new - old <= _MOST and _joins_more(wrapper):
        yield f"{one} + {new - old}"


def _given(evidence: Evidence, wrapper: _Wrapper) -> dict[str, set[int]]:
    """The parameters of a wrapper's constructor, with the numbers that the program's calls write for them."""
    arguments = wrapper.start.args
    names = [one.arg for one in arguments.args[1:]]
    defaults = dict(zip(names[::-1], arguments.defaults[::-1], strict=False))
    found: dict[str, set[int]] = {name: set() for name in (*names, *(one.arg for one in arguments.kwonlyargs))}
    held = wrapper.inner.removeprefix("self.")
    for source in evidence.sources_seen():
        for call in source.nodes():
            if isinstance(call, ast.Call) and called(call) == wrapper.node.name:
                words = {word.arg: word.value for word in call.keywords if word.arg}
                for name, value in {**defaults, **dict(zip(names, call.args, strict=False)), **words}.items():
                    if isinstance(value, ast.Constant) and type(value.value) is int and name in found:
                        found[name].add(value.value)
    return {name: values for name, values in found.items() if name != held}


def _asked(wrapper: _Wrapper) -> list[str]:
    """The attributes that a wrapper's methods read of the object in it: `self.env.actions`, `self.actions`."""
    nodes = [one for one in ast.walk(wrapper.node) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load)]
    calls = {id(one.func) for one in ast.walk(wrapper.node) if isinstance(one, ast.Call)}
    own = [one for one in nodes if ast.unparse(one.value) in ("self", wrapper.inner) and id(one) not in calls]
    held = wrapper.inner.removeprefix("self.")
    return list(dict.fromkeys(one.attr for one in own if one.attr != held and not _defines(wrapper.node, one.attr)))
