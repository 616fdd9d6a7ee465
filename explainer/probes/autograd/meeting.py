"""Where a write and the failing backward meet: the function that leads to both, with its own statements for each."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from explainer.edits.kinds.inplace import block_of
from explainer.edits.place import Place, bound_above
from explainer.facts import MeetingFact, SpanFact, WriteFact
from explainer.probes import probe
from explainer.probes.places import span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.source import Source, called, holds, source_of

Position = Mapping[str, Any]

#: Statements that an update made later would not be moved with.
_UNMOVED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)


@probe
def meeting(scene: Scene) -> MeetingFact | None:
    """The statements for the write that a replay found, for what had kept the value, and for the failing backward.

    All of one function: a helper's `opt.step()` stands for nothing where another call of the same helper crashed, but
    the call of it does.
    """
    from explainer.probes.autograd.writes import stale

    one = stale(scene)
    write = next((write for write in one["writes"] if write["frames"]), None) if one else None
    if one is None or write is None or scene.live is None:
        return None
    chain = _chain(write["frames"], scene.live.user)
    for depth, (position, frame) in enumerate(chain):
        source = source_of(frame.file)
        wrote, crashed = source.statement_at(position["line"]), source.statement_at(frame.line)
        if wrote is None or crashed is None:
            return None
        if wrote is not crashed:
            kept = _at_depth(one["kept"]["frames"], depth, source, frame)
            places = span_fact(source, wrote), span_fact(source, crashed)
            return MeetingFact(*places, kept, wrote.lineno > frame.line, _retained(source, wrote, crashed))
    return None


def _retained(source: Source, wrote: ast.stmt, crashed: ast.stmt) -> bool:
    """Whether a backward above a write is told to keep the graph, for a loss that is there already and fails later."""
    scope = source.scope_at(wrote.lineno)
    calls = [one for one in ast.walk(scope) if isinstance(one, ast.Call) and called(one) == "backward"]
    failed = [one.func.value for one in calls if one.lineno == crashed.lineno and isinstance(one.func, ast.Attribute)]
    bound = bound_above(scope, source.text(failed[0]), crashed.lineno) if failed else None
    kept = [one for one in calls if one.lineno < wrote.lineno and any(
        word.arg == "retain_graph" and ast.unparse(word.value) == "True" for word in one.keywords)]  # fmt: skip
    return bound is not None and any(one.lineno > bound.lineno for one in kept)


def _chain(written: Sequence[Position], frames: Sequence[LiveFrame]) -> list[tuple[Position, LiveFrame]]:
    """The recorded frames of a write beside the live ones of the crash, from the one that was run again inward."""
    outer = written[-1]
    start = next((at for at, frame in enumerate(frames) if _same_function(outer, frame)), None)
    if start is None:
        return []
    pairs = zip(reversed(written), frames[start:], strict=False)
    return [(position, frame) for position, frame in pairs if _same_function(position, frame)]


def _same_function(position: Position, frame: LiveFrame) -> bool:
    source = source_of(frame.file)
    same = source.function_at(position["line"]) is source.function_at(frame.line)
    return position["file"] == frame.file and same


def _at_depth(frames: Sequence[Position], depth: int, source: Source, frame: LiveFrame) -> SpanFact | None:
    """The statement of the meeting function under which another recorded operation ran."""
    if depth >= len(frames) or not _same_function(frames[-1 - depth], frame):
        return None
    statement = source.statement_at(frames[-1 - depth]["line"])
    return span_fact(source, statement) if statement is not None else None


@probe
def block_beside(scene: Scene, of: WriteFact | None = None) -> SpanFact | None:
    """The statement that makes a write, itself or through what it calls, in the block of the failing one, before it.

    None where the same statement made the graph as well, or binds a name: what follows may need that.
    """
    failing, frame = scene.failing, scene.user_frame
    crashed = failing.source.statement_at(frame.line) if failing is not None and frame is not None else None
    met = scene.once("meeting", lambda: meeting(scene))
    if of is None or failing is None or crashed is None or met is None or met.wrote.span.file != met.failed.span.file:
        return None
    line = met.wrote.span.line
    if met.saved is not None and met.saved.span.line == line:
        return None
    for statement in block_of(Place(failing.source, crashed)):
        unmoved = isinstance(statement, _UNMOVED)
        if holds(statement, line) and statement is not crashed and not unmoved:
            return span_fact(failing.source, statement)
    return None


@probe
def update_place(scene: Scene, of: WriteFact | None = None, beside: SpanFact | None = None) -> Any:
    """The line to blame for an update: where a helper that updates weights is called too early, else the write."""
    helper = of is not None and beside is not None and of.holder_kind == "parameter"
    elsewhere = helper and not beside.span.line <= of.span.line <= (beside.span.end_line or 0)  # type: ignore[union-attr]
    return beside if elsewhere else of
