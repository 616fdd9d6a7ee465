"""A checkpoint with other sizes than the model: which layer, where it was built, what it was saved with."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.bindings import arguments_of, given_to_name, last_name
from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.built import bound, construction_below
from explainer.probes.checkpoint.loading import changed_sizes, load_frame
from explainer.probes.decided import calls_of
from explainer.probes.files import calls_named, sources
from explainer.probes.module import path_of
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import fields_of, is_module
from explainer.source import Source

#: The constructor parameter that each dimension of a layer's weight comes from, and its position.
PARAMETERS = {
    "Linear": ("out_features", "in_features"),
    "Embedding": ("num_embeddings", "embedding_dim"),
    "Conv1d": ("out_channels", "in_channels"),
    "Conv2d": ("out_channels", "in_channels"),
    "Conv3d": ("out_channels", "in_channels"),
    "BatchNorm1d": ("num_features",),
    "BatchNorm2d": ("num_features",),
}


@probe
def resized_layer(scene: Scene) -> SpanFact | None:
    """The constructor call of the only layer whose `weight` (and `bias`) a checkpoint holds in other sizes.

    `detail.layer` is its path, `type` its class, `saved` and `own` the two shapes of its weight, `argument` the one
    constructor parameter that makes the difference, `given` its source, `to` its value when the checkpoint was saved.
    """
    frame, changed = load_frame(scene), changed_sizes(scene)
    paths = {row["key"].rpartition(".")[0] for row in changed or ()}
    if frame is None or len(paths) != 1:
        return None
    path, root = paths.pop(), frame.locals["self"]
    module = module_at(root, path)
    weight = next((row for row in changed or () if row["key"] == f"{path}.weight"), None)
    names = PARAMETERS.get(type(module).__name__, ())
    if weight is None or len(weight["saved"]) != len(weight["own"]) or getattr(module, "groups", 1) != 1:
        return None
    odd = [at for at, (saved, own) in enumerate(zip(weight["saved"], weight["own"], strict=True)) if saved != own]
    way = path_of(module, root) if path else None
    found = (construction_below(root, way, module) or _only_call(scene, module)) if way else None
    if found is None or len(odd) != 1 or odd[0] >= len(names):
        return None
    source, call = found
    node = bound(call, type(module)).get(names[odd[0]])
    about = {"layer": path, "type": type(module).__name__, "saved": weight["saved"], "own": weight["own"]}
    argument = {"argument": names[odd[0]], "to": weight["saved"][odd[0]], "now": weight["own"][odd[0]]}
    return span_fact(source, call, **about, **argument, given=source.text(node)) if node is not None else None


def _only_call(scene: Scene, module: Any) -> tuple[Source, ast.Call] | None:
    """The one call in the user's files that builds such a layer, by the numbers that it names."""
    kind, own = type(module), fields_of(module)
    calls = calls_named(scene, kind.__name__)
    found = [(source, call) for source, call in calls if _agrees(bound(call, kind), own)]
    return found[0] if len(found) == 1 else None


def _agrees(given: dict[str, ast.expr], own: dict[str, Any]) -> bool:
    literal = {name: node.value for name, node in given.items() if isinstance(node, ast.Constant)}
    return all(own.get(name, value) == value for name, value in literal.items())


@probe
def decided_size(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """The literal that gave a resized layer its size, where the argument is followed to just one such literal.

    Through names, parameters and the calls that give them, fields of that name in calls, dicts and classes.
    """
    source = scene.source(of.span.file) if of is not None else None
    node = _expression(source, of) if of is not None and source is not None else None
    if of is None or source is None or node is None or isinstance(node, ast.Constant):
        return None
    literals = _literals(scene, source, node, of["now"], 4)
    found = {(place.file, value.lineno, value.col_offset): (place, value) for place, value in literals}  # type: ignore
    return span_fact(*next(iter(found.values()))) if len(found) == 1 else None


def _expression(source: Source, of: SpanFact) -> ast.expr | None:
    """The argument that gave a layer its size, in the call that builds it."""
    within = (node for node in source.nodes() if isinstance(node, ast.expr) and node.lineno == of.span.line)
    return next((node for node in within if source.text(node) == of["given"]), None)


def _literals(scene: Scene, source: Source, node: ast.AST, wanted: int, most: int) -> Iterator[tuple[Source, ast.AST]]:
    """The literals of a value that an expression may stand for."""
    if isinstance(node, ast.Constant):
        if node.value == wanted and type(node.value) is int:
            yield source, node
        return
    name = last_name(node)
    for place, value in _given(scene, source, node, name) if name and most else ():
        yield from _literals(scene, place, value, wanted, most - 1)


def _given(scene: Scene, source: Source, node: ast.AST, name: str) -> Iterator[tuple[Source, ast.AST]]:
    """What a parameter is given by the calls of its function, else what anything of that name is set to."""
    entries = ((place, value) for place in sources(scene) for value in given_to_name(place, name))
    function = source.function_at(node.lineno)  # type: ignore[attr-defined]
    names = [one.arg for one in function.args.args] if isinstance(function, ast.FunctionDef) else []
    if isinstance(node, ast.Name) and name in names and isinstance(function, ast.FunctionDef):
        for place, call in calls_of(scene, source, function):
            given = arguments_of(call, names)
            starred = any(word.arg is None for word in call.keywords)
            if name in given:
                yield place, given[name]
            elif starred:
                yield from entries
        default = dict(zip(reversed(names), reversed(function.args.defaults), strict=False)).get(name)
        if default is not None:
            yield source, default
    else:
        yield from entries


def module_at(root: Any, path: str) -> Any:
    """The submodule at a dotted path, the root for an empty one; None where there is none."""
    for part in path.split(".") if path else ():
        root = (fields_of(root).get("_modules") or {}).get(part)
    return root if is_module(root) else None
