"""Data that were not finite before torch had them: the statement that made them, and the zero that it met."""

from __future__ import annotations

import ast

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.numerics.births import recorded_birth
from explainer.probes.places import place, span_fact
from explainer.probes.scene import Scene
from explainer.source import source_of


@probe
def spoilt_data(scene: Scene) -> SpanFact | None:
    """The statement that made data which were not finite before torch had them.

    `detail`: `name` of what holds them (empty: what a function returns), `kind` (nan, inf), `count` of `of` values,
    `first` index, `shape`, `zero`, the divisor or operand of a logarithm that holds one (else empty), and `function`
    around the statement.
    """
    from explainer.replay.refused import data_before

    if scene.live is None or not scene.options.replay or recorded_birth(scene):
        return None
    found = scene.once("spoilt data", lambda: data_before(scene))
    at = place(found["frames"][0]) if found else None
    if at is None:
        return None
    known = {name: found[name] for name in ("name", "zero", "kind", "count", "of")}
    shapes = {name: tuple(found[name]) for name in ("first", "shape")}
    source, statement = at
    return span_fact(source, statement, function=source.qualified_at(statement.lineno), **known, **shapes)


spoilt_data.proves = True  # type: ignore[attr-defined]


@probe
def zero_of_data(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """What the statement of `spoilt_data` divides by, or takes the logarithm of, where it holds a zero.

    `detail`: `to`, the operand with a small eps; `divided`.
    """
    if of is None or not of["zero"]:
        return None
    from explainer.replay.recorders.data import not_zero

    source = source_of(of.span.file)
    statement = source.statement_at(of.span.line)
    for node in ast.walk(statement) if statement is not None else ():
        operand, divided = not_zero(node), isinstance(node, ast.BinOp)
        if operand is not None and ast.unparse(operand) == of["zero"]:
            eps = f"{source.text(operand)} + 1e-8"
            return span_fact(source, operand, to=f"({eps})" if divided else eps, divided=divided)
    return None
