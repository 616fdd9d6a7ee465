"""State that was saved one level further out or in than it is loaded: the part of a checkpoint that is the model's."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from explainer.facts import Settings, SpanFact
from explainer.probes import probe
from explainer.probes.call import call_node
from explainer.probes.checkpoint.loading import load_frame, shapes_of
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import is_module
from explainer.source import as_attributes

Shapes = Mapping[str, tuple[int, ...]]


def _shapes(scene: Scene) -> tuple[Shapes, Shapes] | None:
    """The shapes of the model's own entries and of those that it was given, by name."""
    frame = load_frame(scene)
    if frame is None or not isinstance(frame.locals.get("state_dict"), Mapping):
        return None
    own, given = shapes_of(frame)
    return own, {key: shape for key, shape in given.items() if type(key) is str}


@probe
def part_of_owner(scene: Scene) -> Settings | None:
    """The one prefix under which a checkpoint has just the model's entries, beside others: it was saved from an owner.

    `prefix` with its dot, `count` of the model's entries, `others` how many more there are, `other` one of those.
    """
    found = _shapes(scene)
    if found is None or not found[0]:
        return None
    own, given = found
    first = next(iter(own))
    heads = {key[: -len(first)] for key in given if key.endswith(f".{first}")}
    fitting = [head for head in heads if all(given.get(head + key) == shape for key, shape in own.items())]
    others = [key for key in given if fitting and not key.startswith(fitting[0])]
    if len(fitting) != 1 or not others:
        return None
    return Settings((("prefix", fitting[0]), ("count", len(own)), ("others", len(others)), ("other", others[0])))


@probe
def owner_of_part(scene: Scene) -> Settings | None:
    """The one submodule of a model whose entries a checkpoint has just so: it was saved from that part alone.

    `path` in the model, `access` the same as source (`.body[0]`), `count` of its entries, `type` its class.
    """
    found, frame = _shapes(scene), load_frame(scene)
    if found is None or frame is None or not found[1]:
        return None
    own, given = found
    first = next(iter(given))
    heads = {key[: -len(first)] for key in own if key.endswith(f".{first}")}
    fitting = [head for head in heads if _has_just(own, given, head)]
    part = _submodule(frame.locals["self"], fitting[0][:-1]) if len(fitting) == 1 else None
    if part is None:
        return None
    path = fitting[0][:-1]
    access = as_attributes(path)
    about = (("path", path), ("access", access), ("count", len(given)), ("type", type(part).__name__))
    return Settings(about)


def _has_just(own: Shapes, given: Shapes, head: str) -> bool:
    return {key[len(head) :]: shape for key, shape in own.items() if key.startswith(head)} == dict(given)


def _submodule(module: Any, path: str) -> Any:
    for name in path.split("."):
        layers = module.__dict__.get("_modules") or {}
        if name not in layers or not is_module(layers[name]):
            return None
        module = layers[name]
    return module


@probe
def resized_positions(scene: Scene) -> Settings | None:
    """The table of positions that alone has another length in a checkpoint: [1, N, width] or [N, width].

    `key`, `saved` and `own` shapes, `side` and `wanted` the sides of a square grid (0 for none), `extra` how many
    positions come before the grid, `batched` whether the first dimension is 1.
    """
    found = _shapes(scene)
    if found is None:
        return None
    own, given = found
    changed = [key for key, shape in own.items() if key in given and given[key] != shape]
    if len(changed) != 1 or "pos" not in changed[0].lower():
        return None
    saved, wanted = given[changed[0]], own[changed[0]]
    batched = len(saved) == 3 and saved[0] == 1
    dim = 1 if batched else 0
    if len(saved) != len(wanted) or len(saved) != dim + 2 or saved[-1] != wanted[-1]:
        return None
    extra, side, new = _grids(saved[dim], wanted[dim])
    sizes = (("key", changed[0]), ("saved", saved), ("own", wanted), ("length", saved[dim]), ("wanted", wanted[dim]))
    return Settings((*sizes, ("side", side), ("new", new), ("extra", extra), ("batched", batched)))


def _grids(saved: int, own: int) -> tuple[int, int, int]:
    """How many positions come before two square grids, and the sides of those; zeros where the lengths are none."""
    for extra in (1, 0, 2):
        old, new = round(max(saved - extra, 0) ** 0.5), round(max(own - extra, 0) ** 0.5)
        if min(old, new) > 1 and old * old + extra == saved and new * new + extra == own:
            return extra, old, new
    return 0, 0, 0


@probe
def load_receiver(scene: Scene) -> SpanFact | None:
    """What the user's call loads into, a plain name or attribute: `net` of `net.load_state_dict(state)`."""
    failing = scene.failing
    node = call_node(failing.node) if failing is not None else None
    owner = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    if failing is None or not isinstance(owner, (ast.Name, ast.Attribute)):
        return None
    return span_fact(failing.source, owner)
