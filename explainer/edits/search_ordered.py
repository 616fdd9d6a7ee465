"""Candidates from how statements stand to each other: computed too early, done for training alone, unlike a sibling."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.arguments import drop_argument, set_argument
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.inplace import block_of
from explainer.edits.place import Place
from explainer.edits.statements import move_statement, unwrap_block
from explainer.patterns import Pattern
from explainer.source import called, loaded, stored

_TRAINING = Pattern(r"(^|[._])(train|training|is_train|is_training)$")
_RESIZING = Pattern("crop|resize|pad|trim|scale|truncate", re.IGNORECASE)
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


def loaded_otherwise(evidence: Evidence) -> Iterator[Candidate]:
    """`net.fuse()`, then `net.load_state_dict(state)` -> the other way round: what was saved was not fused yet.

    Before the statements above that use the model, the nearest first, then behind those below.
    """
    load = evidence.frames[-1].place.statement() if evidence.frames else None
    call = load.node.value if load is not None and isinstance(load.node, ast.Expr) else None
    if load is None or not isinstance(call, ast.Call) or called(call) != "load_state_dict":
        return
    model = re.compile(rf"\b{re.escape(load.source.text(call.func)[: -len('.load_state_dict')])}\b")
    body = block_of(load)
    at = body.index(load.node)  # type: ignore[arg-type]
    for other in reversed(body[:at]):
        if stored(other) & loaded(load.node):
            break
        if model.search(load.source.text(other)):
            yield from _loaded(evidence, load, load.at(other), before=True)
    for other in body[at + 1 :]:
        if isinstance(other, (ast.Return, ast.Raise, ast.Continue, ast.Break)):
            break
        if model.search(load.source.text(other)):
            yield from _loaded(evidence, load, load.at(other), before=False)


def _loaded(evidence: Evidence, load: Place, other: Place, before: bool) -> Iterator[Candidate]:
    edits = partial(move_statement, load, other) if before else partial(move_statement, load, after=other)
    title = "load-before" if before else "load-after"
    yield from evidence.made(edits, "move-statement", load, title, what=other.text[:48])


def for_all(evidence: Evidence) -> Iterator[Candidate]:
    """`if train: steps.append(Crop(n))` -> always: sizes that the other data does not get."""
    for source in evidence.sources_seen():
        for node in source.nodes():
            if not isinstance(node, ast.If) or node.orelse or not _TRAINING.search(source.text(node.test)):
                continue
            place, inner = Place(source, node), " ".join(source.text(one) for one in node.body)
            if len(node.body) == 1 and _RESIZING.search(inner):
                edits, culprit = partial(unwrap_block, place), place.at(node.test)
                yield from evidence.made(edits, "unwrap-block", culprit, "for-all", what=inner[:48])


def alike_words(evidence: Evidence) -> Iterator[Candidate]:
    """`pad(a)`, `pad(b, batch_first=True)` -> with both or none: one of two calls in a function has one flag more."""
    for place, function in _functions(evidence):
        every = [one for one in ast.walk(function) if isinstance(one, ast.Call)]
        for one, word in [(call, word) for call in every for word in call.keywords if _is_flag(word)]:
            name = ast.unparse(one.func)
            beside = [other for other in every if other is not one and ast.unparse(other.func) == name]
            without = [other for other in beside if word.arg not in [given.arg for given in other.keywords]]
            for other in without if len(without) == len(beside) == 1 else ():
                words: dict[str, Any] = {"new": ast.unparse(word), "layer": name}
                drop = partial(drop_argument, place.at(one), word.arg or "")
                yield from evidence.made(drop, "drop-argument", place.at(one), "no-flag", **words)
                put = partial(set_argument, place.at(other), word.arg or "", word.value.value)  # type: ignore
                yield from evidence.made(put, "set-argument", place.at(other), "flag", **words)


def _is_flag(word: ast.keyword) -> bool:
    return word.arg is not None and isinstance(word.value, ast.Constant) and isinstance(word.value.value, bool)


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
