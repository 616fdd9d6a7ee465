"""Datasets whose rows have keys of their own, where a loader asks for positions."""

from __future__ import annotations

import ast
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import read
from explainer.source import of_self


@probe
def keyed_rows(scene: Scene) -> SpanFact | None:
    """What a dataset's constructor keeps as its rows, where that is a dict with other keys than positions: the value.

    `detail`: `name`, the attribute; `count`, how many rows; `first`, the first of their keys; `to`, the rows as a list.
    """
    failing, frame = scene.failing, scene.user_frame
    node = failing.node if failing is not None else None
    if failing is None or frame is None or not isinstance(node, ast.Subscript) or not of_self(node.value):
        return None
    rows: Any = read(node.value, frame.frame)
    owner = failing.source.class_at(node.lineno)
    name = node.value.attr  # type: ignore[attr-defined]
    kept = [one for one in ast.walk(owner) if isinstance(one, ast.Assign) and _keeps(one, name)] if owner else []
    if type(rows) is not dict or not rows or len(kept) != 1:
        return None
    value = kept[0].value
    to = f"list({failing.source.text(value)}.values())"
    text = failing.source.text(node.value)
    return span_fact(failing.source, value, name=text, count=len(rows), first=next(iter(rows)), to=to)


def _keeps(statement: ast.Assign, name: str) -> bool:
    target = statement.targets[0]
    plain = isinstance(statement.value, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    return plain and of_self(target) and target.attr == name  # type: ignore[attr-defined]
