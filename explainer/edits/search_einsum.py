"""Candidates for `torch.einsum`: the letters of one term in another order, so that every letter has one size."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence

_LONGEST = 5


def relettered(evidence: Evidence) -> Iterator[Candidate]:
    """`bns,bnd->bsd` -> `bsn,bnd->bsd`, where the shapes fit the equation then."""
    crash = evidence.crash
    node = crash.place.node if crash and crash.place else None
    if crash is None or crash.place is None or crash.function != "einsum" or not isinstance(node, ast.Call):
        return
    given = next((one for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)), None)
    if given is None:
        return
    for equation in _equations(str(given.value), [shape for shape, _ in crash.before]):
        quote, place = crash.place.source.text(given)[0], crash.place.at(given)
        text = f"{quote}{equation}{quote}"
        yield from evidence.replaced(place, text, "replace", "letters", crash.place, new=equation)


def _equations(equation: str, shapes: list[list[int]]) -> Iterator[str]:
    left, arrow, right = equation.partition("->")
    terms = [term.strip() for term in left.split(",")]
    if "." in equation or [len(term) for term in terms] != [len(shape) for shape in shapes]:
        return
    for at, term in enumerate(terms):
        for letters in itertools.permutations(term) if len(term) <= _LONGEST else ():
            new = [*terms[:at], "".join(letters), *terms[at + 1 :]]
            if new != terms and _fits(new, shapes):
                yield ",".join(new) + arrow + right


def _fits(terms: list[str], shapes: list[list[int]]) -> bool:
    sizes: dict[str, int] = {}
    every = [size for shape in shapes for size in shape]
    return all(sizes.setdefault(letter, size) == size for letter, size in zip("".join(terms), every, strict=True))
