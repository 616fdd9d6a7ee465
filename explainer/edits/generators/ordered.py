"""Candidates from how statements stand to each other: computed too early, done for training alone, unlike a sibling."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.generators.index import counted_lengths
from explainer.edits.kinds.statements import move_statement
from explainer.edits.place import Place, fitted
from explainer.source import called, loaded, names_in, stored, walked

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


def read_early(evidence: Evidence) -> Iterator[Candidate]:
    """`n = len(vocab)` behind what adds tokens, or read again where it is used: a length that grew until the crash."""
    for at in dict.fromkeys(tuple(leaf[1]) for leaf in counted_lengths(evidence)):
        place = evidence.place(at) if at in evidence.outgrown else None
        if place is not None and isinstance(place.node, ast.Call):
            was, now = evidence.outgrown[at]
            name = ast.unparse(place.node.args[0])
            yield from _read_later(evidence, place, {"what": place.text, "name": name, "was": was, "now": now})


def _read_later(evidence: Evidence, place: Place, words: dict[str, Any]) -> Iterator[Candidate]:
    """The statement that reads a length behind each that has to do with what is measured; the length for its name."""
    first = place.statement()
    movable, changed = isinstance(first.node, ast.stmt), False
    text = _of_lengths(first)
    behind = itertools.dropwhile(lambda one: one is not first.node, place.source.block_of(first.node))
    for later in itertools.islice(behind, 1, None):
        names = (one for one in walked(later) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load))
        uses = [place.at(one) for one in names if one.id in stored(first.node)]
        for use in uses if changed and text else ():
            yield from evidence.replaced(use, fitted(use, text), "replace", "outgrown", **words)
        touches = _touches(evidence, later, words["name"])
        changed, movable = changed or touches, movable and not uses
        if touches and movable:
            edits = partial(move_statement, first, after=place.at(later))
            yield from evidence.made(edits, "move-statement", first, "outgrown", **words)


def _of_lengths(statement: Place) -> str:
    """What a statement gives one name, where that is computed of lengths and numbers alone."""
    node = statement.node
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name) or len(node.targets) > 1:
        return ""
    calls = {called(one) for one in walked(node.value) if isinstance(one, ast.Call)}
    return statement.source.text(node.value) if calls <= {"len", "max", "min"} else ""


def _touches(evidence: Evidence, statement: ast.AST, name: str) -> bool:
    """Whether a statement calls something with an object, or calls a function of the program that reads it."""
    calls = [one for one in walked(statement) if isinstance(one, ast.Call)]
    own = [place.node for one in calls for place in evidence.defined(called(one))]
    return bool(calls) and any(ast.unparse(one) == name for node in (statement, *own) for one in names_in(node))


def _functions(evidence: Evidence) -> list[tuple[Place, ast.FunctionDef]]:
    """The functions in which the failing call or a step behind it was made, with a place in each."""
    places = [frame.place for frame in evidence.frames[::-1]]
    places += [place for step in evidence.steps[:_STEPS] for place in step.places]
    found: dict[int, tuple[Place, ast.FunctionDef]] = {}
    for place in places:
        function = place.source.function_at(place.line)
        if isinstance(function, ast.FunctionDef):
            found.setdefault(id(function), (place, function))
    return list(found.values())
