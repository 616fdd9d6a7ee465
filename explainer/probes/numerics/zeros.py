"""Plain numbers that are zero where something is divided by them, and the place that made them so."""

from __future__ import annotations

import ast
from typing import Any

from explainer.bindings import last_name
from explainer.edits.place import place_of
from explainer.facts import NanFact, SpanFact
from explainer.probes import probe
from explainer.probes.bindings import binding
from explainer.probes.places import span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.values import read
from explainer.source import Source, source_of

_WRITTEN = (ast.Constant, ast.Attribute, ast.Subscript)


@probe
def zero_number(scene: Scene, of: NanFact | None = None) -> SpanFact | None:
    """The divisor of a division, where it is a plain number that is zero in the frame that divided.

    `detail`: `name` (its source), `value` as Python writes it, `frame` (which of the user's).
    """
    if of is None or of.operator != "div" or of.operand is None:
        return None
    place = place_of(scene.source, of.operand)
    node = place.node
    for number, frame in reversed(list(enumerate(scene.live.user if scene.live is not None else []))):
        here = frame.file == place.source.file and _same_function(place.source, frame, of.span.line)
        if here and isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            value = read(node, frame.frame)
            if not _zero(value) or _bound_between(place.source, last_name(node), of.span.line, frame.line):
                return None
            return span_fact(place.source, node, name=place.source.text(node), value=repr(value), frame=number)
    return None


def _zero(value: Any) -> bool:
    return type(value) in (int, float) and value == 0


def _same_function(source: Source, frame: LiveFrame, line: int) -> bool:
    return frame.line >= line and source.scope_at(frame.line) is source.scope_at(line)


def _bound_between(source: Source, name: str, first: int, last: int) -> bool:
    """Whether a name or attribute may have got another value behind the division."""
    stored = (ast.Name, ast.Attribute, ast.Subscript)
    return any(
        isinstance(one, stored) and isinstance(one.ctx, ast.Store) and last_name(one) == name
        for one in source.nodes()
        if isinstance(one, stored) and first <= one.lineno <= last
    )


@probe
def zero_made(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """What gave a divisor its zero: the call or number behind its name, followed through the callers.

    `detail.literal`: whether it is a number written out.
    """
    number, node = (of["frame"], place_of(scene.source, of).node) if of is not None else (0, None)
    bound = binding(scene, node, number) if node is not None else None
    if bound is None or scene.live is None:
        return None
    literal = isinstance(bound.node, ast.Constant)
    return span_fact(bound.source, bound.node, literal=literal)


@probe
def zero_given(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """The one entry or attribute that is zero among what the call behind a divisor is given: a schedule's end."""
    if of is None or scene.live is None:
        return None
    call = place_of(scene.source, of).node
    frames = [one for one in scene.live.user if one.file == of.span.file and one.line >= of.span.line]
    if not isinstance(call, ast.Call) or not frames:
        return None
    source, frame = source_of(frames[-1].file, frames[-1].frame.f_globals), frames[-1].frame
    given = [*call.args, *(word.value for word in call.keywords)]
    zeros = [one for one in given if isinstance(one, _WRITTEN) and _zero(read(one, frame))]
    return span_fact(source, zeros[0]) if len(zeros) == 1 else None
