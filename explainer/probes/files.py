"""The user's files: the sources that are on the stack or loaded, and the calls in them."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from typing import TypeVar

from explainer.probes.scene import Scene
from explainer.sized import Room
from explainer.source import Source, called
from explainer.userframes import user_modules

N = TypeVar("N", bound=ast.AST)


def sources(scene: Scene) -> list[Source]:
    """The user's source files that are on the stack or loaded, the stack's first, as far as there is room."""
    return scene.once("sources", lambda: _sources(scene)) or []


def nodes_of(scene: Scene, kind: type[N] | tuple[type[N], ...]) -> Iterator[tuple[Source, N]]:
    """The nodes of a kind in the user's files, each with its file."""
    yield from ((source, node) for source in sources(scene) for node in source.nodes() if isinstance(node, kind))


def named(scene: Scene, kind: type[N], name: str) -> Iterator[tuple[Source, N]]:
    """The classes or functions of a name in the user's files."""
    yield from ((source, node) for source, node in nodes_of(scene, kind) if getattr(node, "name", "") == name)


def calls_named(scene: Scene, *names: str) -> list[tuple[Source, ast.Call]]:
    """The calls in the user's files whose last name is one of these."""
    return [(source, call) for source, call in nodes_of(scene, ast.Call) if called(call) in names]


def _sources(scene: Scene) -> list[Source]:
    files = [frame.file for frame in scene.live.user] if scene.live is not None else []
    files += [frame.file for frame in scene.crash.stack if frame.user]
    if scene.live is not None:
        files += [file for file in user_modules().values() if file.endswith(".py")]
    found = {os.path.realpath(file): file for file in reversed(files)}
    room = Room()
    fitting = [file for file in reversed(found.values()) if room.admits(file)]
    return [source for source in map(scene.source, fitting) if source is not None]
