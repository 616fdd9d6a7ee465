"""Where the size of a layer was decided: from its constructor's argument up to the call that gave the number."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.bindings import arguments_of
from explainer.facts import ModuleFact, SpanFact
from explainer.probes import probe
from explainer.probes.built import bound, construction
from explainer.probes.files import sources
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import Source, called, of_self

Node = tuple[Source, ast.AST]
#: How many calls a parameter is followed through.
_MOST = 5


@probe
def decided_at(scene: Scene, of: ModuleFact | None = None, argument: str = "", near: Any = None) -> SpanFact | None:
    """The number that an argument of a layer's constructor stands for, where a parameter leads to just one literal.

    None where the constructor has the number itself, where it cannot be followed with certainty, and where another
    argument of the layer or of a call on the way is the last size of `near` (a tensor fact): they may be mixed up.
    """
    module = scene.objects.get(of.name) if of is not None else None
    found = construction(scene, module) if module is not None else None
    node = bound(found[1], type(module)).get(argument) if found is not None else None
    if found is None or not isinstance(node, ast.Name) or _has(module, _shape(near)):
        return None
    at = literal_of(scene, found[0], node, _shape(near))
    return span_fact(*at) if at is not None else None


@probe
def setting_at(scene: Scene, argument: str = "") -> SpanFact | None:
    """The number that an attribute stands for which the failing call is given as an `argument`; None where unsure."""
    node = scene.failing.node if scene.failing is not None else None
    given = [one.value for one in node.keywords if one.arg == argument] if isinstance(node, ast.Call) else []
    if scene.failing is None or not given or not of_self(given[0]):
        return None
    at = literal_of(scene, scene.failing.source, given[0])
    return span_fact(*at) if at is not None else None


def literal_of(scene: Scene, source: Source, node: ast.AST, sizes: tuple[int, ...] = ()) -> Node | None:
    """The literal that an expression is or that its name leads to, and no other; None where there is doubt.

    Doubt is also an argument on the way that is the last of `sizes`.
    """
    at: Node | None = (source, node)
    for _ in range(_MOST):
        if at is None or isinstance(getattr(at[1], "operand", at[1]), ast.Constant):  # a sign goes with its number
            return at
        at = given(scene, *at, sizes)
    return None


def _has(module: Any, sizes: tuple[int, ...]) -> bool:
    """Whether another setting of a layer is the size that came: its arguments may be the wrong way round."""
    return any(type(value) is int and value in sizes[-1:] for value in vars(module).values())


def _shape(near: Any) -> tuple[int, ...]:
    return tuple(getattr(near, "shape", None) or ())


def given(scene: Scene, source: Source, node: ast.AST, sizes: tuple[int, ...]) -> Node | None:
    """What a name stands for: its literal, or the argument in the only call of the function whose parameter it is.

    An attribute stands for what the class sets it to, in one place. Where nothing in sight calls the function, as a
    registry may, its parameter is what its default says.
    """
    if of_self(node):
        return _kept(source, node)
    if not isinstance(node, ast.Name):
        return None
    function = source.function_at(node.lineno)
    names = [one.arg for one in function.args.args] if isinstance(function, ast.FunctionDef) else []
    if not isinstance(function, ast.FunctionDef) or node.id not in names:
        return _assigned(source, node.id)
    default = dict(zip(reversed(names), reversed(function.args.defaults), strict=False)).get(node.id)
    calls = list(calls_of(scene, source, function))
    if not calls and default is not None:
        return source, default
    if len(calls) != 1:
        return None
    given = arguments_of(calls[0][1], names)
    others = [one for name, one in given.items() if name != node.id and isinstance(one, ast.Constant)]
    if any(one.value in sizes[-1:] for one in others):
        return None
    if node.id in given:
        return calls[0][0], given[node.id]
    return (source, default) if default is not None else None


def _kept(source: Source, node: ast.Attribute) -> Node | None:
    """What the only assignment of an attribute in its class gives it."""
    owner = source.class_at(node.lineno)
    pairs = [pair for one in ast.walk(owner) if isinstance(one, ast.Assign) for pair in _pairs(one)] if owner else []
    values = [value for target, value in pairs if of_self(target) and target.attr == node.attr]
    return (source, values[0]) if len(values) == 1 else None


def calls_of(scene: Scene, source: Source, function: ast.FunctionDef) -> Iterator[tuple[Source, ast.Call]]:
    """The calls of a function, or of the class whose `__init__` it is, in the user's files."""
    owner = source.class_at(function.lineno)
    name = owner.name if owner is not None and function.name == "__init__" else function.name
    for one in sources(scene):
        yield from ((one, node) for node in one.nodes() if isinstance(node, ast.Call) and called(node) == name)


def _assigned(source: Source, name: str) -> Node | None:
    """The literal that the only assignment of a name in a file gives it, alone or beside others."""
    found: list[ast.AST] = []
    for node in source.nodes():
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
            found.append(node)
    pairs = [pair for node in source.nodes() if isinstance(node, ast.Assign) for pair in _pairs(node)]
    values = [value for target, value in pairs if getattr(target, "id", None) == name]
    return (source, values[0]) if len(found) == len(values) == 1 else None


def _pairs(node: ast.Assign) -> Iterator[tuple[ast.AST, ast.AST]]:
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        else:
            yield target, node.value


@probe
def first_of(scene: Scene, of: Any = None, otherwise: Any = None) -> Any:
    """One fact where it is known, else another."""
    return of if of is not None else otherwise


@probe
def first_entry(scene: Scene, of: tuple[Any, ...] | None = None, alone: bool = False) -> Any:
    """The first of several facts; where it has to be `alone`, the one fact."""
    return of[0] if of and not (alone and of[1:]) else None
