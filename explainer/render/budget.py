"""What a diagnosis leaves out, step by step, until it fits the screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from explainer.frozen import frozen
from explainer.render.theme import Row

#: Lines that one diagnosis may take.
LINES = 25
_ALL = 10_000


@frozen
class Plan:
    """How much of each part is shown. Counts are lines, of `ors` fixes, of `operands` rows, of `places` blocks.

    `raised`: whether the line is marked where the error surfaced, when the diagnosis is told elsewhere. `titles`:
    whether a lone edit says what it is for; where there is a choice between edits they always do. `means`: what the
    word for the certainty means; `apply`: how to carry the fix out.
    """

    headline: int = 3
    message: int = 2
    remarks: int = 8
    before: int = 2
    after: int = 1
    raised: bool = True
    places: int = 3
    labels: int = 3
    marks: int = 8
    operands: int = 8
    why: int = 10
    origin: int = 4
    titles: bool = True
    means: bool = True
    apply: bool = True
    ors: int = 3
    notes: int = 3
    diff: int = 14
    links: int = 0


FULL = Plan(
    headline=_ALL,
    message=_ALL,
    remarks=_ALL,
    before=4,
    after=3,
    places=_ALL,
    labels=_ALL,
    marks=_ALL,
    operands=_ALL,
    why=_ALL,
    origin=_ALL,
    ors=_ALL,
    notes=_ALL,
    diff=_ALL,
    links=_ALL,
)


def plans() -> Iterator[Plan]:
    """From all to little: a lone edit's title, context, what a word means, `next`, `or`, `from`; only then the rest."""
    plan = Plan()
    steps = [
        {},
        {"titles": False},
        {"after": 0},
        {"before": 1},
        {"means": False},
        {"notes": 1},
        {"notes": 0},
        {"ors": 2},
        {"ors": 1},
        {"ors": 0},
        {"origin": 0},
        {"before": 0},
        {"raised": False},
        {"remarks": 5},
        {"places": 2},
        {"places": 1},
        {"operands": 5},
        {"diff": 6},
        {"labels": 1},
        {"message": 1},
        {"remarks": 3},
        {"why": 8},
        {"why": 5},
        {"remarks": 1},
        {"marks": 4},
        {"operands": 3},
        {"diff": 4},
        {"headline": 2},
        {"why": 3},
        {"marks": 2},
        {"apply": False},
    ]
    for step in steps:
        plan = replace(plan, **step)  # type: ignore[arg-type]
        yield plan


def fit(compose: Callable[[Plan], list[Row]], full: bool, lines: int = LINES) -> list[Row]:
    """The rows under the first plan that fits `lines`; all of them where `full`."""
    if full:
        return compose(FULL)
    rows: list[Row] = []
    for plan in plans():
        rows = compose(plan)
        if len(rows) <= lines:
            return rows
    return rows[:lines]
