"""A key that a dataset puts into some samples only: the statement that adds it, or takes it out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.dataloader.datasets import dataset_of
from explainer.probes.dataloader.samples import method_of, own_dataset
from explainer.probes.files import sources
from explainer.probes.places import function_of, spanned
from explainer.probes.scene import Scene
from explainer.source import Function, Source

_ADDING = ("update", "setdefault")


@probe
def key_added(scene: Scene) -> SpanFact | None:
    """What adds the key that a batch lacks to some samples: a statement, an `... if ... else {}`, or a returned dict.

    `detail`: `dataset` the dataset's class, `function` where it stands.
    """
    dataset, key = own_dataset(scene) or dataset_of(scene), _key(scene)
    places = _places(scene, dataset, str(key)) if dataset is not None and key is not None else []
    if not places:
        return None
    source, node = places[0]
    return spanned(source, node, dataset=type(dataset).__name__, function=function_of(source, node.lineno))


def _key(scene: Scene) -> Any:
    """The key as the message of a KeyError prints it; None where it is no string or number."""
    try:
        found = ast.literal_eval(scene.crash.message.strip())
    except (ValueError, SyntaxError):
        return None
    return found if type(found) in (str, int) else None


def _places(scene: Scene, dataset: Any, key: str) -> list[tuple[Source, ast.stmt | ast.IfExp]]:
    """Where the dataset's methods add a key under a condition; else where the only other function that does, does."""
    own = [(source, node) for source, method in _methods(dataset) for node in _sometimes(source, method, key)]
    if own:
        return own if len({source.function_at(node.lineno) for source, node in own}) == 1 else []
    others = [[(source, node) for node in _sometimes(source, one, key)] for source, one in _functions(scene)]
    found = [one for one in others if one]
    return found[0] if len(found) == 1 else []


def _methods(dataset: Any) -> Iterator[tuple[Source, Function]]:
    for name in dict.fromkeys(name for base in type(dataset).__mro__ for name in vars(base)):
        found = method_of(dataset, name)
        if found is not None:
            yield found


def _functions(scene: Scene) -> Iterator[tuple[Source, ast.AST]]:
    for source in sources(scene):
        yield from ((source, one) for one in source.nodes() if isinstance(one, ast.FunctionDef))


def _sometimes(source: Source, function: ast.AST, key: str) -> Iterator[ast.stmt | ast.IfExp]:
    """What adds a key to a dict in a function, or takes it out, where there is a way past it."""
    returned = [one.value for one in ast.walk(function) if isinstance(one, ast.Return) and one.value is not None]
    made = [one.value for one in ast.walk(function) if isinstance(one, ast.Assign) and isinstance(one.value, ast.Dict)]
    for node in ast.walk(function):
        if isinstance(node, ast.IfExp):
            dicts = [one for one in (node.body, node.orelse) if isinstance(one, ast.Dict)]
            if any(_entries(one, key) for one in dicts) and not all(one.keys for one in dicts):
                yield node
        elif isinstance(node, ast.Return) and _entries(node.value, key):
            if any(isinstance(one, ast.Dict) and one.keys and not _entries(one, key) for one in returned):
                yield node
        elif isinstance(node, ast.stmt) and _touches(node, key) and not any(_entries(one, key) for one in made):
            if _passed(source, function, node):
                yield node
        elif isinstance(node, ast.stmt) and _removes(node, key) and isinstance(source.parent_of(node), ast.If):
            yield node


def _passed(source: Source, function: ast.AST, node: ast.stmt) -> bool:
    """Whether a function may leave out a statement: it stands under a condition, or behind an early return."""
    outer = source.parent_of(node)
    while outer is not None and outer is not function:
        if isinstance(outer, (ast.If, ast.Try)):
            return True
        outer = source.parent_of(outer)
    returns = (one for one in ast.walk(function) if isinstance(one, ast.Return))
    return any(one.lineno < node.lineno and not isinstance(one.value, ast.Dict) for one in returns)


def _touches(node: ast.stmt, key: str) -> bool:
    """Whether a statement adds a key to a dict: `sample["age"] = x`, `sample.update(age=x)`."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        return _is_entry(node.targets[0], key)
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr not in _ADDING:
        return False
    named = call.func.attr == "update" and any(word.arg == key for word in call.keywords)
    given = call.args[0] if call.args else None
    return named or _is(given, key) or _entries(given, key)


def _removes(node: ast.stmt, key: str) -> bool:
    """Whether a statement takes a key out of a dict: `del sample["age"]`, `sample.pop("age")`."""
    if isinstance(node, ast.Delete):
        return len(node.targets) == 1 and _is_entry(node.targets[0], key)
    call = node.value if isinstance(node, ast.Expr) else None
    popped = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "pop"
    return popped and isinstance(call, ast.Call) and bool(call.args) and _is(call.args[0], key)


def _is_entry(node: ast.expr, key: str) -> bool:
    return isinstance(node, ast.Subscript) and _is(node.slice, key)


def _entries(node: ast.AST | None, key: str) -> bool:
    return isinstance(node, ast.Dict) and any(_is(one, key) for one in node.keys)


def _is(node: ast.AST | None, key: str) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (str, int) and str(node.value) == key
