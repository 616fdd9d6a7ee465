"""The calls that may have made a value, followed in the source alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.bindings import arguments_of, handed_on
from explainer.probes.decided import calls_of
from explainer.probes.scene import Scene
from explainer.source import Source

_MOST = 5
#: Expressions, each with its file, from the use of a value to what made it.
Way = tuple[tuple[Source, ast.AST], ...]


def makers(scene: Scene, source: Source, node: ast.AST | None, most: int = _MOST) -> Iterator[tuple[Source, ast.Call]]:
    """The calls that the value of an expression may come from, through names, attributes of self and parameters.

    `.to(device)` and its like are taken off: what is left is what builds.
    """
    for way in ways(scene, source, node, most):
        home, last = way[-1]
        if isinstance(last, ast.Call):
            yield home, last


def ways(scene: Scene, source: Source, node: ast.AST | None, most: int = _MOST) -> Iterator[Way]:
    """The ways of a value from an expression that uses it back to what made it, through all that handed it on."""
    node = handed_on(node)
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and most:
        taken = isinstance(node, ast.Subscript)
        steps = list(_entries(scene, source, node, most) if taken else bindings(scene, source, node))
        for home, value in steps or _items(scene, source, node, most):
            yield from (((source, node), *way) for way in ways(scene, home, value, most - 1))
    elif node is not None:
        yield ((source, node),)


def _entries(scene: Scene, source: Source, node: Any, most: int) -> Iterator[tuple[Source, ast.AST]]:
    """The entries of a written dict or list that a constant key or index takes."""
    key = getattr(node.slice, "value", None)
    for way in ways(scene, source, node.value, most - 1):
        home, held = way[-1]
        if isinstance(held, ast.Dict):
            pairs = zip(held.keys, held.values, strict=True)
            yield from ((home, value) for one, value in pairs if isinstance(one, ast.Constant) and one.value == key)
        elif isinstance(held, (ast.List, ast.Tuple)) and isinstance(key, int) and key < len(held.elts):
            yield home, held.elts[key]


def _items(scene: Scene, source: Source, node: Any, most: int) -> Iterator[tuple[Source, ast.AST]]:
    """What a loop's name goes through: the element of a list comprehension, the elements of a written list."""
    scope = source.scope_at(node.lineno)
    loops = [one for one in ast.walk(scope) if isinstance(one, (ast.For, ast.comprehension))]
    for loop in loops if isinstance(node, ast.Name) else ():
        for way in ways(scene, source, loop.iter, most - 1) if getattr(loop.target, "id", "") == node.id else ():
            home, held = way[-1]
            elements = [held.elt] if isinstance(held, ast.ListComp) else getattr(held, "elts", [])
            yield from ((home, one) for one in elements)


def bindings(scene: Scene, source: Source, node: Any) -> Iterator[tuple[Source, ast.AST]]:
    """What is assigned to a name in its function (or at the top of its file), to an attribute in its class.

    Of a parameter that is what the calls of the function give.
    """
    function = source.function_at(node.lineno)
    scope: ast.AST | None = function or source.tree
    if isinstance(node, ast.Attribute):
        scope = source.class_at(node.lineno) or scope
    found = list(assigned(source, scope, source.text(node)))
    names = [one.arg for one in function.args.args] if isinstance(function, ast.FunctionDef) else []
    if isinstance(node, ast.Name) and node.id in names and isinstance(function, ast.FunctionDef) and not found:
        for home, call in calls_of(scene, source, function):
            given = arguments_of(call, names).get(node.id)
            if given is not None:
                yield home, given
    elif not found and function is not None and isinstance(node, ast.Name):
        found = list(assigned(source, source.tree, node.id))
    yield from ((source, value) for value in found)


def assigned(source: Source, scope: ast.AST | None, target: str) -> Iterator[ast.AST]:
    """The values that a scope assigns to a target by its text, one of several targets too."""
    for node in ast.walk(scope) if scope is not None else ():
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            for one in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if source.text(one) == target:
                    yield node.value
                elif isinstance(one, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = zip(one.elts, node.value.elts, strict=False)
                    yield from (value for part, value in pairs if source.text(part) == target)
