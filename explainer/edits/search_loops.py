"""Candidates for sizes that a loop carries from one layer to the next: `width = size` that should follow the layer."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.expressions import evaluated
from explainer.edits.lines import changed
from explainer.edits.place import Place
from explainer.edits.sites import arriving, layers_hit
from explainer.source import holds

_MOST_NAMES = 8


def carried(evidence: Evidence) -> Iterator[Candidate]:
    """Another value for a size that a loop sets for its next round: a sum, a multiple, what the new layer says."""
    for layer, step in layers_hit(evidence):
        need = arriving(layer, step)
        built = layer.value(need[0]) if need else None
        times = need[1] // built if need and built and need[1] % built == 0 else 0
        for call in layer.calls[:4]:
            for place in _set_in_loop(call.place):
                for text in _values(evidence, place, times):
                    words: dict[str, Any] = {"new": text, "old": place.text}
                    yield from evidence.replaced(place, text, "replace", "rename", **words)


def _set_in_loop(call: Place) -> Iterator[Place]:
    """The values given, in the loop around a call, to the names that the call's arguments read."""
    line = call.node.lineno
    read = {call.source.text(one) for one in ast.walk(call.node) if isinstance(one, (ast.Name, ast.Attribute))}
    for loop in call.source.nodes():
        if isinstance(loop, ast.For) and loop.lineno < line <= (loop.end_lineno or 0):
            for node in ast.walk(loop):
                if isinstance(node, ast.Assign) and call.source.text(node.targets[0]) in read:
                    yield call.at(node.value)


def _values(evidence: Evidence, place: Place, times: int) -> Iterator[str]:
    old, stale = place.text, _target(place)
    if isinstance(place.node, (ast.Name, ast.Attribute, ast.Subscript)):
        yield f"{stale} + {old}"
    yield from (f"{old} * {name}" for name in _factors(place))
    yield from (f"{owner}.{name}" for owner in _newest(place) for name in _sizes(evidence))
    if times > 1:
        yield f"{old} * {times}" if isinstance(place.node, (ast.Name, ast.Attribute)) else f"({old}) * {times}"


def _target(place: Place) -> str:
    return place.source.text(place.statement().node.targets[0])  # type: ignore[union-attr]


def _factors(place: Place) -> Iterator[str]:
    """`block.expansion` for the numbers that classes of the file set for all their objects."""
    function = place.source.function_at(place.span.line)
    calls = [one for one in ast.walk(function or ast.Module([], [])) if isinstance(one, ast.Call)]
    called = {place.source.text(one.func) for one in calls}
    for node in place.source.nodes():
        for part in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(part, ast.Assign) and isinstance(part.value, ast.Constant) and type(part.value.value) is int:
                name = place.source.text(part.targets[0])
                yield from (f"{one}.{name}" for one in sorted(called) if one.isidentifier())


def _newest(place: Place) -> Iterator[str]:
    """What the loop has just built: `blocks[-1]` of a list that it appends to, or the name that it appends."""
    line = place.span.line
    for loop in place.source.nodes():
        if isinstance(loop, ast.For) and loop.lineno < line <= (loop.end_lineno or 0):
            for node in ast.walk(loop):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
                    given = node.args[0] if node.args else None
                    yield given.id if isinstance(given, ast.Name) else f"{place.source.text(node.func.value)}[-1]"


def _sizes(evidence: Evidence) -> list[str]:
    """Fields that the program's classes give themselves and that sound like a size that goes out."""
    names = ["out_features", "out_channels"]
    for source in evidence.sources_seen():
        for node in source.nodes():
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and "out" in node.attr:
                names.insert(0, node.attr)
    return list(dict.fromkeys(names))[:_MOST_NAMES]


def first_apart(evidence: Evidence) -> Iterator[Candidate]:
    """`[Cell(n_in, width) for _ in range(n)]` -> `Cell(n_in if i == 0 else width, width)`: only the first."""
    for layer, step in layers_hit(evidence):
        need = arriving(layer, step)
        for call in layer.calls[:4] if need else ():
            loop = _range_around(call.place)
            given = call.place.node.args if isinstance(call.place.node, ast.Call) else []
            sizes = [(one, evaluated(one, call.scope)) for one in given]
            old = next((one for one, value in sizes if value == layer.value(need[0])), None) if need else None
            new = next((one for one, value in sizes if need and value == need[1]), None)
            if loop is None or old is None or new is None or not isinstance(loop.target, ast.Name):
                continue
            free = next(name for name in ("i", "k", "index", "position") if name not in call.scope)
            counter = loop.target.id if loop.target.id != "_" else free
            text = f"{ast.unparse(old)} if {counter} == 0 else {ast.unparse(new)}"
            changes = [(call.place.at(old).span, text), (call.place.at(loop.target).span, counter)]
            edits = partial(changed, call.place.source, changes)
            yield from evidence.made(edits, "replace", call.place, "rename", old=ast.unparse(old), new=text)


def _range_around(place: Place) -> Any:
    """The innermost loop or comprehension over a `range` in which a call stands."""
    found = None
    for node in place.source.nodes():
        loops = [node] if isinstance(node, ast.For) else getattr(node, "generators", [])
        inside = bool(loops) and holds(node, place.node.lineno) and any(one is place.node for one in ast.walk(node))
        if inside and isinstance(loops[0].iter, ast.Call) and ast.unparse(loops[0].iter.func) == "range":
            found = loops[0]
    return found
