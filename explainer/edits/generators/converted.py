"""Candidates for arrays of an odd dtype: cast where they become tensors, all of them where one alone is not enough."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.generators.slices import chain, operands
from explainer.edits.kinds.methods import insert_methods
from explainer.edits.place import Place
from explainer.source import called, walked

_CONVERSIONS = ("from_numpy", "as_tensor", "tensor")
_CASTS = ("float", "long", "int", "bool", "half", "double", "to", "type")


def converted(evidence: Evidence) -> Iterator[Candidate]:
    """`from_numpy(x)`, `from_numpy(y)` -> `from_numpy(x).float()`, `from_numpy(y).float()`: float64 left behind."""
    for operand in operands(evidence):
        steps = chain(evidence, operand.start) if operand.dtype == "float64" else []
        wide = [step for step in steps if step.dtype == operand.dtype]
        found = next((step.place for step in wide if step.place is not None and _converts(step.place.node)), None)
        if found is not None:
            words: dict[str, Any] = {"what": found.text[:48], "method": "float()", "dtype": "float64"}
            yield from evidence.made(partial(insert_methods, (found,), "float()"), "cast", found, "cast", **words)
            every = (found, *(one for one in _alike(found) if not _other_dtype(evidence, one, operand.dtype)))
            if len(every) > 1:
                yield from evidence.made(partial(insert_methods, every, "float()"), "cast", found, "cast-each", **words)


def _other_dtype(evidence: Evidence, place: Place, dtype: str) -> bool:
    """Whether a conversion is known to have made values of another dtype, indices say."""
    spans = (place.source.file, place.span)
    made = [one for one in evidence.steps if one.place is not None and (one.place.source.file, one.place.span) == spans]
    return any(one.dtype and one.dtype != dtype for one in made)


def _converts(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or called(node) not in _CONVERSIONS:
        return False
    return not any(word.arg == "dtype" for word in node.keywords)


def _alike(place: Place) -> tuple[Place, ...]:
    """The other conversions of the same kind in a function, or in the script, that nothing casts yet."""
    scope, kind = place.source.scope_at(place.line), called(place.node)  # type: ignore[arg-type]
    calls = [one for one in walked(scope) if isinstance(one, ast.Call) and _converts(one) and called(one) == kind]
    cast = {id(one.value) for one in walked(scope) if isinstance(one, ast.Attribute) and one.attr in _CASTS}
    return tuple(place.at(one) for one in calls if one is not place.node and id(one) not in cast)
