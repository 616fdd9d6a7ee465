"""The user's files: the sources that are on the stack or loaded, and the calls in them."""

from __future__ import annotations

import ast
import os

from explainer.probes.scene import Scene
from explainer.sized import Room
from explainer.source import Source, called
from explainer.userframes import user_modules


def sources(scene: Scene) -> list[Source]:
    """The user's source files that are on the stack or loaded, the stack's first, as far as there is room."""
    return scene.once("sources", lambda: _sources(scene)) or []


def calls_named(scene: Scene, *names: str) -> list[tuple[Source, ast.Call]]:
    """The calls in the user's files whose last name is one of these."""
    calls = ((source, node) for source in sources(scene) for node in source.nodes() if isinstance(node, ast.Call))
    return [(source, call) for source, call in calls if called(call) in names]


def _sources(scene: Scene) -> list[Source]:
    files = [frame.file for frame in scene.live.user] if scene.live is not None else []
    files += [frame.file for frame in scene.crash.stack if frame.user]
    if scene.live is not None:
        files += [file for file in user_modules().values() if file.endswith(".py")]
    found = {os.path.realpath(file): file for file in reversed(files)}
    room = Room()
    fitting = [file for file in reversed(found.values()) if room.admits(file)]
    return [source for source in map(scene.source, fitting) if source is not None]
