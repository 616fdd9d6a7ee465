"""Candidates that change a literal: solved from what is wanted, or a neighbour with which the sizes divide."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Step
from explainer.edits.expressions import bends_formula, solved
from explainer.edits.lookups import stands_for_another
from explainer.edits.place import Place, fitted
from explainer.replay.recorders.taint import literals

_RANDOM = ("rand", "randn", "randint", "normal", "standard_normal", "random", "uniform")
_FILLED = ("zeros", "ones", "empty", "full")


def solved_in(evidence: Evidence, tree: list, value: int, what: str, title: str = "literal") -> Iterator[Candidate]:
    """The literals of a number's tree, each with the value that makes the number what is wanted."""
    for leaf, new in solved(tree, value):
        place = evidence.place(leaf[1])
        if place is None or new < 0 or stands_for_another(evidence, place, new):
            continue
        if bends_formula(place.parent(), place.node, new):
            continue
        words: dict[str, Any] = {"old": leaf[-1], "new": new, "what": what, "value": value}
        whole, text = _without_factor(place) if new == 1 else (place, str(new))
        yield from evidence.replaced(whole, text, "replace-literal", title, place, True, **words)


def _without_factor(place: Place) -> tuple[Place, str]:
    """`width // 2` is `width` where the 2 becomes 1: what is to be replaced, and by what."""
    parent = place.parent()
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Mult, ast.FloorDiv)):
        other = parent.left if parent.right is place.node else parent.right
        if parent.right is place.node or isinstance(parent.op, ast.Mult):
            return place.at(parent), place.source.text(other)
    return place, "1"


def one_off(evidence: Evidence) -> Iterator[Candidate]:
    """`n ** 2` -> `n ** 2 + 1`: a computed size that misses another size of the message by one."""
    said = evidence.said
    for step, tree in [(one, tree) for one in evidence.steps for tree in one.numbers]:
        place = evidence.place(tree[4]) if tree[0] == "op" and tree[4] else None
        if place is None or int(tree[-1]) not in said:
            continue
        for sign, value in (("+", int(tree[-1]) + 1), ("-", int(tree[-1]) - 1)):
            for at in (*_given(step, tree), place) if value in said else ():
                new = f"{at.text} {sign} 1"
                yield from evidence.replaced(at, fitted(at, new), "replace", "one-more", new=new)


def built(evidence: Evidence) -> Iterator[Candidate]:
    """`modes=(12, 12)` -> `(12, 9)`: a literal that gave a parameter one of two sizes that the message names."""
    said = dict.fromkeys(one for one in evidence.said if one > 1)
    made = [tree for one in evidence.steps[1:] if one.function in _RANDOM + _FILLED for tree in one.numbers]
    for leaf in leaves([tree for tree in made if tree[0] == "lit"]) if len(said) == 2 else ():
        if leaf[-1] in said:
            yield from changed_leaf(evidence, leaf, next(one for one in said if one != leaf[-1]))


def _given(step: Step, tree: list) -> list[Place]:
    """The name that gives a product to the call: how many there are is right then, and one more has to be made."""
    place = step.place
    if tree[1] not in ("*", "**") or place is None or not isinstance(place.node, ast.Call):
        return []
    shape = place.node.args[0] if len(place.node.args) == 1 else None
    given = shape.elts if isinstance(shape, (ast.Tuple, ast.List)) else place.node.args
    at = [one[-1] for one in step.numbers].index(tree[-1])
    named = [one for one in given[at : at + 1] if isinstance(one, (ast.Name, ast.Attribute))]
    return [place.at(one) for one in named if len(given) == len(step.numbers)]


def leaves(trees: Sequence[list]) -> list[list]:
    """The literals greater than 1 that trees end in, each once."""
    return list({
        tuple(leaf[1]): leaf for tree in trees for leaf in literals(tree) if leaf[0] == "lit" and leaf[-1] > 1
    }.values())  # fmt: skip


def changed_leaf(evidence: Evidence, leaf: list, value: int) -> Iterator[Candidate]:
    """A literal behind a number with another value; none where it is a size of random data."""
    place = evidence.place(leaf[1])
    if place is not None and not of_random_data(place) and not stands_for_another(evidence, place, value):
        words: dict[str, Any] = {"old": leaf[-1], "new": value}
        yield from evidence.replaced(place, str(value), "replace-literal", "neighbour", place, True, **words)


def of_random_data(place: Place) -> bool:
    """Whether a number is a size of random data that a script makes: they stand for real data, which is as it is."""
    call: Any = place.parent()
    if isinstance(call, (ast.Tuple, ast.List)):
        call = place.at(call).parent()
    named = call.func.attr if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else ""
    return named in _RANDOM and place.source.class_at(place.node.lineno) is None
