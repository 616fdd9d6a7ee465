"""Iterators that give their items once, and what went through them before an optimizer did."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator
from typing import Any

from explainer.edits.lines import EditError
from explainer.edits.place import place_of
from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.bindings import Bound, binding
from explainer.probes.origin import last_binding
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import read
from explainer.source import Source, called, holds, names_in

_ONCE = (types.GeneratorType, filter, map, zip, enumerate, reversed)
#: What is given an iterator without going through it.
_ASKS = ("print", "type", "isinstance", "repr", "str", "id", "callable", "hasattr")


@probe
def used_iterator(scene: Scene) -> SpanFact | None:
    """The value of the name that an optimizer was given: an iterator which something went through before.

    `detail`: the `name` that it has where it was made, its `kind` (generator, filter, map, ...), `listed`: as a list.
    """
    frame = scene.user_frame
    for node in _given(scene) if frame is not None else ():
        if frame is None or not _gives_once(read(node, frame.frame)):
            continue
        bound = _made(scene, node)
        if bound is not None and next(_readers(scene, bound), None) is not None:
            kind = type(read(node, frame.frame)).__name__
            return span_fact(bound.source, bound.node, name=_name(bound), kind=kind, listed=_listed(bound))
    return None


def _listed(bound: Bound) -> str:
    text = bound.source.text(bound.node)
    inner = text.removeprefix("(").removesuffix(")")
    return f"[{inner}]" if isinstance(bound.node, ast.GeneratorExp) else f"list({text})"


def _given(scene: Scene) -> Iterator[ast.AST]:
    """The names in the failing call, then those that lists given to it were made of in the same function."""
    frame, failing = scene.user_frame, scene.failing
    named = names_in(failing.node) if failing is not None else []
    yield from named
    for node in named:
        bound = last_binding(failing.source, frame, node.id) if isinstance(node, ast.Name) else None  # type: ignore
        yield from names_in(bound.value) if isinstance(bound, ast.Assign) else ()


@probe
def used_at(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """What first went through an iterator: `sum(p.numel() for p in params)`."""
    if of is None or scene.live is None:
        return None
    try:
        place = place_of(scene.source, of)
    except EditError:
        return None
    statement = place.source.statement_at(place.line)
    frames = [n for n, one in enumerate(scene.live.user) if _stands_in(one, place.source, place.line)]
    if statement is None or not isinstance(place.node, ast.expr):
        return None
    readers = _readers(scene, Bound(place.source, place.node, statement, frames[-1] if frames else None))
    first = min(readers, key=lambda one: one.lineno, default=None)  # type: ignore[attr-defined]
    return span_fact(place.source, first) if first is not None else None


def _stands_in(frame: Any, source: Source, line: int) -> bool:
    return frame.file == source.file and source.scope_at(frame.line) is source.scope_at(line)


def _gives_once(value: Any) -> bool:
    return isinstance(value, _ONCE) or type(value).__module__ == "itertools"


def _made(scene: Scene, node: ast.AST) -> Bound | None:
    """The assignment of the iterator, followed through the names it was handed on under."""
    bound = binding(scene, node, len(scene.live.user) - 1) if scene.live is not None else None
    while bound is not None and isinstance(bound.node, ast.Name) and bound.frame is not None and not bound.looped:
        bound = binding(scene, bound.node, bound.frame)
    plain = bound is not None and not bound.looped and bound.part is None and isinstance(bound.statement, ast.Assign)
    return bound if plain and isinstance(bound.statement.targets[0], (ast.Name, ast.Attribute)) else None  # type: ignore[union-attr]


def _name(bound: Bound) -> str:
    return bound.source.text(bound.statement.targets[0])  # type: ignore[attr-defined]


def _readers(scene: Scene, bound: Bound) -> Iterator[ast.AST]:
    """What goes through an iterator between where it was made and where the program stands, in that function."""
    if not isinstance(bound.statement, ast.Assign) or scene.live is None:
        return
    name, source, made = _name(bound), bound.source, bound.statement.lineno
    now = scene.live.user[bound.frame].line if bound.frame is not None else _line_in(scene, source, made)
    for node in ast.walk(source.scope_at(made)):
        for one in _gone_through(node):
            named = isinstance(one, (ast.Name, ast.Attribute)) and source.text(one) == name and one.lineno > made
            if named and _before(source, made, one.lineno, now):
                yield one if isinstance(node, ast.For) else node


def _before(source: Source, made: int, line: int, now: int) -> bool:
    """Whether a line behind that where an iterator was made ran before the one where the program stands."""
    return (line < now and not _apart(source, line, now)) or _again(source, made, line, now)


def _line_in(scene: Scene, source: Source, made: int) -> int:
    """The line at which the function that made an iterator stands; beyond all where it has returned."""
    frames = [one.line for one in (scene.live.user if scene.live else []) if _stands_in(one, source, made)]
    return frames[-1] if frames else 1 << 30


def _gone_through(node: ast.AST) -> list[ast.expr]:
    """The expressions whose items a node takes: of a loop, a comprehension, a star, a call."""
    if isinstance(node, ast.For):
        return [node.iter]
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
        return [part.iter for part in node.generators]
    if isinstance(node, ast.Starred):
        return [node.value]
    if isinstance(node, ast.Call) and called(node) not in _ASKS:
        return [*node.args, *(word.value for word in node.keywords)]
    return []


def _apart(source: Source, line: int, now: int) -> bool:
    """Whether two lines stand in different branches of an `if`: one of them did not run."""
    for node in source.nodes():
        if isinstance(node, ast.If) and holds(node, line) and holds(node, now):
            taken = [any(holds(one, at) for one in node.body) for at in (line, now)]
            if taken[0] != taken[1]:
                return True
    return False


def _again(source: Source, made: int, line: int, now: int) -> bool:
    """Whether a loop behind where an iterator was made holds a line: what stands there ran before."""
    loops = (one for one in source.nodes() if isinstance(one, (ast.For, ast.While)) and one.lineno > made)
    return any(holds(one, line) and holds(one, now) for one in loops)
