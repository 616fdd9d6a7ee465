"""Samples that are dicts, put side by side with `zip(*batch)`: that gives their keys."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.dataloader.unpacking import matched
from explainer.probes.places import span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.values import read
from explainer.source import Source, called, source_of


@probe
def zipped_keys(scene: Scene) -> SpanFact | None:
    """The `zip(*batch)` of dicts in a failing frame that was unpacked into names: they hold the keys.

    `detail`: `batch` (its source), `names`, `keys` (the one that each name is for), `count` (of samples), `to` (the
    same with the entries taken).
    """
    for frame in reversed(scene.live.user if scene.live is not None else []):
        source = source_of(frame.file, frame.frame.f_globals)
        for targets, value, batch in _zips(source, frame):
            names = [one.id for one in targets.elts if isinstance(one, ast.Name)]
            keys = _common_keys(read(batch, frame.frame))
            if len(names) == len(targets.elts) == len(keys):
                return _fact(source, value, batch, names, matched(names, keys), len(read(batch, frame.frame)))
    return None


def _fact(source: Source, value: ast.Call, batch: ast.expr, names: list[str], keys: list[str], count: int) -> SpanFact:
    text = source.text(batch)
    one = "item" if text != "item" else "sample"
    entries = ", ".join(f'{one}["{key}"]' for key in keys)
    to = f"zip(*(({entries}) for {one} in {text}))"
    return span_fact(source, value, batch=text, names=tuple(names), keys=tuple(keys), count=count, to=to)


def _zips(source: Source, frame: LiveFrame) -> Iterator[tuple[ast.Tuple, ast.Call, ast.expr]]:
    """The names, the call and what is zipped of each `x, y = zip(*batch)` above a frame's line, in its function."""
    function = source.scope_at(frame.line)
    for one in ast.walk(function) if function is not None else ():
        if not isinstance(one, ast.Assign) or one.lineno > frame.line or not isinstance(one.targets[0], ast.Tuple):
            continue
        value = one.value
        given = value.args if isinstance(value, ast.Call) and called(value) == "zip" else []
        if isinstance(value, ast.Call) and len(given) == 1 and isinstance(given[0], ast.Starred):
            yield one.targets[0], value, given[0].value


def _common_keys(batch: Any) -> list[str]:
    """The keys of all samples of a batch, where each is a dict with these same strings."""
    if type(batch) not in (list, tuple) or not batch or any(type(one) is not dict for one in batch):
        return []
    keys = list(batch[0])
    alike = all(set(one) == set(keys) for one in batch)
    return keys if alike and len(keys) > 1 and all(type(key) is str and key.isprintable() for key in keys) else []
