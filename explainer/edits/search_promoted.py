"""Candidates for values that a wider table promoted: given back the dtype of what came, where both met."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Step
from explainer.edits.lines import changed
from explainer.edits.place import Place, as_primary
from explainer.edits.search_dtype import SHORT
from explainer.edits.slices import argument_places, chain, editable, operands
from explainer.source import Node

_ARITHMETIC = (ast.BinOp, ast.UnaryOp)
_NAMED = (ast.Name, ast.Attribute)


def as_given(evidence: Evidence) -> Iterator[Candidate]:
    """`return x * cos + turned(x) * sin` -> `(...).to(x.dtype)`: x was of half precision, and cos was not.

    Where a function does so to several values, all of them are cast.
    """
    functions: dict[tuple[str, int], dict[Node, tuple[Place, str]]] = {}
    for step in promotions(evidence):
        place = step.place
        if place is not None and editable(place):
            function = place.source.function_at(place.span.line)
            found = functions.setdefault((place.source.file, getattr(function, "lineno", 0)), {})
            whole = _whole(place)
            found[whole.node] = whole, _narrow(step) or found.get(whole.node, (whole, ""))[1]
    for found in functions.values():
        if all(name for _, name in found.values()):
            yield from _cast(evidence, list(found.values()))


def promotions(evidence: Evidence) -> list[Step]:
    """The steps that made a wider value of one in half precision and another, behind what the failing call got."""
    crash = evidence.crash
    short = {dtype for _, dtype in crash.before if dtype in SHORT} if crash is not None else set()
    wide = [one for one in operands(evidence) if one.dtype == "float32"] if len(short) == 1 else []
    steps = {id(step): step for one in wide for step in chain(evidence, one.start)}
    return [step for step in steps.values() if step.dtype == "float32" and short & {dtype for _, dtype in step.before}]


def _whole(place: Place) -> Place:
    """The sum or product of which an expression is a term."""
    parent = place.parent()
    return _whole(place.at(parent)) if isinstance(parent, _ARITHMETIC) else place


def _narrow(step: Step) -> str:
    """The source of a name that holds what a step was given in half precision; empty where none does."""
    for place, (_, dtype) in zip(argument_places(step), step.before, strict=False):
        if dtype in SHORT and isinstance(place.node, _NAMED):
            return place.text
    return ""


def _cast(evidence: Evidence, found: list[tuple[Place, str]]) -> Iterator[Candidate]:
    first, name = found[0]
    changes = [(place.span, f"{as_primary(place)}.to({own}.dtype)") for place, own in found]
    edits = partial(changed, first.source, changes)
    yield from evidence.made(edits, "cast", first, "cast-back", what=first.text[:48], name=name)
