"""Candidates for a `k` larger than the number of values there are: the number of the program lowered, or capped."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from explainer.diagnosis import Span
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.lines import changed
from explainer.edits.place import Place, bound_above
from explainer.edits.search_literals import leaves, of_random_data
from explainer.edits.search_topk import choice_of
from explainer.replay.taint import value_of


def one_of_several(evidence: Evidence) -> Iterator[Candidate]:
    """`topk=(1, 5)` -> `topk=(1, 3)` where there are 4 classes: the accuracy of all of them would be 1."""
    for place, new, size in _lowered(evidence):
        if isinstance(place.parent(), (ast.Tuple, ast.List)):
            yield from _with_number(evidence, place, new, size)


def lowered(evidence: Evidence) -> Iterator[Candidate]:
    """`topk=5` -> `topk=3` likewise; as many as there are where no accuracy is counted."""
    for place, new, size in _lowered(evidence):
        yield from _with_number(evidence, place, new, size)


def _lowered(evidence: Evidence) -> Iterator[tuple[Place, int, int]]:
    """The literals behind a `k` that is too large, with the number to put there and how many values there are."""
    choice = choice_of(evidence)
    crash = evidence.crash
    if choice is None or crash is None or evidence.passed:  # other data made it fail: the number was well before
        return
    function = choice.call.source.scope_at(choice.call.span.line)
    size = crash.before[0][0][choice.dim]
    most = max(size - 1, 1) if _counts_hits(function) else size
    for tree in [one for one in crash.numbers if int(one[-1]) > size]:
        for leaf in leaves([tree]):
            new = int(leaf[-1]) - int(tree[-1]) + most
            place = evidence.place(leaf[1])
            if place is not None and new > 0 and value_of(tree, {tuple(leaf[1]): new}) == most:
                yield place, new, size


def capped(evidence: Evidence) -> Iterator[Candidate]:
    """`most = max(topk)` -> `most = min(max(topk), scores.shape[1])`, for all that the function does with it."""
    choice = choice_of(evidence)
    name = choice.k.node.id if choice is not None and isinstance(choice.k.node, ast.Name) else ""
    if choice is None or not name:
        return
    scope = choice.call.source.scope_at(choice.call.span.line)
    bound = bound_above(scope, name, choice.call.span.line)
    if bound is None or bound.value is None or ast.unparse(choice.tensor) in {name, ast.unparse(bound.value)}:
        return
    place = choice.call.at(bound.value)
    new = f"min({place.text}, {choice.size})"
    yield from evidence.replaced(place, new, "replace", "count-as", new=new)


def _with_number(evidence: Evidence, place: Place, new: int, size: int) -> Iterator[Candidate]:
    if of_random_data(place):
        return
    edits = partial(changed, place.source, [_change(place, new)])
    yield from evidence.made(edits, "replace-literal", place, "at-most", new=new, old=place.text, size=size)


def _change(place: Place, new: int) -> tuple[Span, str]:
    """The number replaced; left out of a tuple that holds the new one already: `(1, 5)` -> `(1,)`."""
    parent = place.parent()
    others = [one for one in parent.elts if one is not place.node] if isinstance(parent, (ast.Tuple, ast.List)) else []
    if str(new) not in [place.source.text(one) for one in others]:
        return place.span, str(new)
    texts = [place.source.text(one) for one in others]
    assert parent is not None
    inner = ", ".join(texts)
    listed = f"[{inner}]" if isinstance(parent, ast.List) else f"({inner}{',' * (len(texts) == 1)})"
    return place.source.span(parent), listed


def _counts_hits(function: ast.AST | None) -> bool:
    """Whether a function compares what was chosen with labels: the accuracy among the k best."""
    for node in ast.walk(function) if function is not None else ():
        method = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
        if method in ("eq", "isin") or (isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Eq, ast.In))):
            return True
    return False
