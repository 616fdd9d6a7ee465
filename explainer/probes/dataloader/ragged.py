"""Samples whose lists differ in length: under which key, and how long they are."""

from __future__ import annotations

from typing import Any

from explainer.facts import Settings
from explainer.probes import probe
from explainer.probes.scene import Scene

#: How many lengths are told.
_TOLD = 3


@probe
def ragged_lists(scene: Scene) -> Settings | None:
    """The lists that default collate could not put together: `key` ("" where there is none) and their `lengths`."""
    batches = _batches(scene)
    inner = batches[-1] if batches else []
    if len(inner) < 2 or not all(type(one) in (list, tuple) for one in inner):
        return None
    lengths = list(dict.fromkeys(len(one) for one in inner))
    if len(lengths) < 2:
        return None
    keys = [_key_of(outer[0], inner[0]) for outer in batches[:-1] if outer]
    return Settings((("key", next((key for key in keys[::-1] if key), "")), ("lengths", tuple(lengths[:_TOLD]))))


def _batches(scene: Scene) -> list[list[Any]]:
    """What torch's collate functions on the stack were given, outermost first."""
    found: list[list[Any]] = []
    for frame in scene.live.frames if scene.live is not None else []:
        collates = "utils/data/_utils/collate" in frame.file.replace("\\", "/")
        batch = frame.locals.get("batch") if collates else None
        if type(batch) in (list, tuple) and not (found and found[-1] is batch):
            found.append(batch)  # type: ignore[arg-type]
    return found


def _key_of(sample: Any, part: Any) -> str:
    """The key under which a sample, a plain dict, holds a part."""
    if type(sample) is not dict:
        return ""
    return next((key for key, one in sample.items() if one is part and type(key) is str), "")
