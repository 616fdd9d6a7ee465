"""Candidates for a Linear layer on a whole map, beyond any memory: the map pooled before it is flattened."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.diagnosis import Span
from explainer.edits.arguments import argument_node
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Step
from explainer.edits.lines import changed, indentation
from explainer.edits.place import Place
from explainer.source import called

#: The side that a map is pooled to, and the number of weights from which a layer on it is out of proportion.
_SIDE = 8
_WEIGHTS = 1 << 30


def pooled(evidence: Evidence) -> Iterator[Candidate]:
    """`Flatten(), Linear(c * side * side, n)` -> `AdaptiveAvgPool2d(8), Flatten(), Linear(c * 8 * 8, n)`."""
    crash = evidence.crash
    place = crash.place if crash is not None else None
    if crash is None or place is None or not isinstance(place.node, ast.Call) or called(place.node) != "Linear":
        return
    given = argument_node(place, "in_features")
    features = _of_side(given) if given is not None else None
    prefix = place.source.text(place.node.func).removesuffix("Linear")
    if given is None or features is None or not prefix.endswith(".") or math.prod(_sizes(crash)) < _WEIGHTS:
        return
    for flat in _flattened(place):
        put = _before(place.source, flat, prefix)
        edits = partial(changed, place.source, [(place.source.span(given), features), put])
        yield from evidence.made(edits, "replace", place, "pool-map", side=_SIDE, features=features)


def _sizes(crash: Step) -> list[int]:
    return [int(tree[-1]) for tree in crash.numbers]


def _of_side(node: ast.AST) -> str | None:
    """A product without the side that it has twice, `8 * 8` in its place; None where it has no such factor."""
    factors = _factors(node)
    texts = [ast.unparse(one) for one in factors]
    sides = [text for text in dict.fromkeys(texts) if texts.count(text) == 2]
    if len(sides) != 1:
        return None
    left = [f"({text})" if " " in text else text for text in texts if text != sides[0]]
    return " * ".join([*left, str(_SIDE), str(_SIDE)])


def _factors(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _factors(node.left) + _factors(node.right)
    square = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and ast.unparse(node.right) == "2"
    return [node.left, node.left] if square else [node]  # type: ignore[attr-defined]


def _flattened(place: Place) -> Iterator[ast.Call]:
    """The calls of the class around a layer that make rows of maps: modules first."""
    scope = place.source.class_at(place.span.line)
    calls = [one for one in ast.walk(scope) if isinstance(one, ast.Call)] if scope is not None else []
    yield from (one for one in calls if called(one) == "Flatten" and not one.args)
    for one in calls:
        last = ast.unparse(one.args[-1]) if one.args else ""
        if (called(one) == "flatten" and last == "1") or (called(one) in ("view", "reshape") and last == "-1"):
            yield one


def _before(source: Any, flat: ast.Call, prefix: str) -> tuple[Span, str]:
    """What stands before the rows are made: a layer of its own before `Flatten()`, else a call on the map."""
    if called(flat) == "Flatten":
        alone = source.line(flat.lineno).strip().rstrip(",") == source.text(flat)
        between = f",\n{indentation(source, flat.lineno)}" if alone else ", "
        return source.span(flat), f"{prefix}AdaptiveAvgPool2d({_SIDE}){between}{source.text(flat)}"
    assert isinstance(flat.func, ast.Attribute)
    tensor = flat.args[0] if source.text(flat.func.value) == "torch" else flat.func.value
    return source.span(tensor), f"{prefix}functional.adaptive_avg_pool2d({source.text(tensor)}, {_SIDE})"
