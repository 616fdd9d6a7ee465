"""Candidates from how statements stand to each other: computed too early, done for training alone, unlike a sibling."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.kinds.statements import move_statement
from explainer.edits.place import Place
from explainer.source import loaded, stored

#: From how many of the steps behind the failing call functions are looked at.
_STEPS = 30


def computed_early(evidence: Evidence) -> Iterator[Candidate]:
    """`mask = draw(len(x))`, then `x = kept(x)` -> the other way round: a size taken before rows were left out."""
    for place, function in _functions(evidence):
        for at, one in enumerate(function.body):
            names = isinstance(one, ast.Assign) and stored(one)
            read = loaded(one) if names else set()
            for later in function.body[at + 1 :]:
                if loaded(later) & stored(one):
                    break
                changed = stored(later) & loaded(later) & read
                if isinstance(later, ast.Assign) and changed:
                    first, then = place.at(one), place.at(later)
                    words: dict[str, Any] = {"what": first.text[:48], "name": min(changed)}
                    edits = partial(move_statement, first, after=then)
                    yield from evidence.made(edits, "move-statement", first, "later", **words)
                    break


def _functions(evidence: Evidence) -> list[tuple[Place, ast.FunctionDef]]:
    """The functions in which the failing call or a step behind it was made, with a place in each."""
    places = [frame.place for frame in evidence.frames[::-1]]
    places += [place for step in evidence.steps[:_STEPS] for place in step.places]
    found: dict[int, tuple[Place, ast.FunctionDef]] = {}
    for place in places:
        function = place.source.function_at(place.span.line)
        if isinstance(function, ast.FunctionDef):
            found.setdefault(id(function), (place, function))
    return list(found.values())
