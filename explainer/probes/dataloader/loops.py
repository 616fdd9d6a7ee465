"""The loader that a running loop goes through, and the call that made it."""

from __future__ import annotations

import ast
from typing import Any

from explainer.probes.files import calls_named
from explainer.probes.places import enclosing
from explainer.probes.scene import Scene
from explainer.probes.values import fields_of, read
from explainer.source import Source, called

#: What goes through a loader for a loop.
_AROUND = ("enumerate", "tqdm", "iter", "list", "zip")


def is_loader(value: Any) -> bool:
    """Whether a value is a DataLoader of torch's."""
    return any(base.__name__ == "DataLoader" for base in type(value).__mro__)


def loader_in_loop(scene: Scene) -> Any:
    """The loader of the innermost running loop; else the only one that the user's frames hold; None of several."""
    frames = list(reversed(scene.live.user)) if scene.live is not None else []
    for frame in frames:
        source = scene.source(frame.file)
        for loop in enclosing(source, frame.line, (ast.For,)) if source is not None else ():
            value = read(_iterated(loop.iter), frame.frame)
            if is_loader(value):
                return value
    held = {id(value): value for frame in frames for value in frame.locals.values() if is_loader(value)}
    return next(iter(held.values())) if len(held) == 1 else None


def _iterated(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Call) and called(node) in _AROUND and node.args:
        node = node.args[0]
    return node


def made_by(scene: Scene, loader: Any) -> tuple[Source, ast.Call] | None:
    """The only call of the user's files that can have made a loader, by what it says and what the loader has."""
    calls = calls_named(scene, "DataLoader")
    fitting = [one for one in calls if _fits(one[1], fields_of(loader))]
    return fitting[0] if len(fitting) == 1 else None


def _fits(call: ast.Call, own: dict[str, Any]) -> bool:
    """Whether a call's plain settings are those of a loader; what it computes may be anything."""
    words = {word.arg: word.value for word in call.keywords}
    if None in words:
        return True
    shuffled = type(own.get("sampler")).__name__ == "RandomSampler"
    known = {"shuffle": shuffled, "batch_size": own.get("batch_size"), "drop_last": own.get("drop_last")}
    usual = {"shuffle": False, "batch_size": 1, "drop_last": False}
    if len(call.args) > 1:
        words.setdefault("batch_size", call.args[1])
    if "sampler" in words or "batch_sampler" in words or len(call.args) > 2:
        known = {"drop_last": known["drop_last"]}
    return all(_agrees(words.get(name), usual[name], value) for name, value in known.items())


def _agrees(node: ast.expr | None, usual: Any, value: Any) -> bool:
    return value == usual if node is None else not isinstance(node, ast.Constant) or bool(node.value == value)
