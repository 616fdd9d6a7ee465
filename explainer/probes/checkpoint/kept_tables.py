"""A table that a checkpoint holds beside its weights, where the program makes one anew and sizes the model by that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from explainer.facts import SpanFact
from explainer.frozen import frozen
from explainer.probes import probe
from explainer.probes.scene import Scene
from explainer.probes.values import MISSING, fields_of

_TABLES = (list, tuple, dict)


@frozen
class KeptTable:
    """An entry of a loaded checkpoint: `text` reads it, `new` is the table made of it, `count` its entries."""

    text: str
    key: str
    new: str
    count: int


@probe
def kept_table(scene: Scene, of: SpanFact | None = None, layer: SpanFact | None = None) -> KeptTable | None:
    """The entry of a loaded checkpoint that is a table like `of`, as long as the saved weights of `layer` have rows.

    A row or two may be for what has no entry (padding, unknown words): as many as the table made anew has more rows.
    """
    if of is None or layer is None:
        return None
    value = _value(scene, of["name"])
    fields = [one for one in of["fields"].split(",") if one]
    held: list[Any] = [fields_of(value).get(one) for one in fields] if value is not MISSING else []
    kinds = [type(one) for one in held if type(one) in _TABLES] or ([type(value)] if type(value) in _TABLES else [])
    if len(kinds) != 1 or len(fields) > 1:
        return None
    own: Any = held[0] if fields else value
    rows = layer["to"] - layer["now"] + len(own)
    found = [one for one in _entries(scene) if type(one[2]) is kinds[0] and len(one[2]) == rows]
    found = [one for one in found if one[1] in (*fields, of["name"])] or found
    if len(found) != 1:
        return None
    text, key, entry = found[0]
    return KeptTable(text, key, f"{of['maker']}({text})" if fields else text, len(entry))


def _value(scene: Scene, name: str) -> Any:
    frames = reversed(scene.live.user if scene.live is not None else [])
    return next((frame.locals[name] for frame in frames if name in frame.locals), MISSING)


def _entries(scene: Scene) -> Iterator[tuple[str, str, Any]]:
    """The tables in the dicts of the innermost frame, one level further in too: source, key, value."""
    frame = scene.user_frame
    dicts = {name: one for name, one in (frame.locals if frame is not None else {}).items() if type(one) is dict}
    for name, value in dicts.items():
        for key, entry in list(value.items())[:50]:
            if isinstance(key, str) and type(entry) in _TABLES:
                yield f'{name}["{key}"]', key, entry
            for inner, deep in list(entry.items())[:50] if isinstance(key, str) and type(entry) is dict else ():
                if isinstance(inner, str) and type(deep) in _TABLES:
                    yield f'{name}["{key}"]["{inner}"]', inner, deep
