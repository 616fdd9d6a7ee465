"""Candidates for sequences that a `cat` made longer than their targets: a feature, a token or a prompt put beside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Step
from explainer.edits.place import Place, as_primary
from explainer.edits.search_views import views_joined
from explainer.edits.slices import Operand, argument_places, chain, editable, operands, trunk
from explainer.frozen import frozen

_JOINS = ("cat", "concat", "concatenate")
#: Calls behind which a tensor's entries still are the same ones, in the same order.
_SAME_ENTRIES = ("view", "reshape", "flatten", "contiguous", "to", "long", "squeeze", "unsqueeze")


@frozen
class Lengthened:
    """A `cat` that put `more` entries beside the `rest` along a dimension, in front of them or behind."""

    step: Step
    dim: int
    more: int
    in_front: bool
    rest: int | None

    @property
    def total(self) -> int:
        """How many entries there are then."""
        return self.step.shape[self.dim]


def shortened(evidence: Evidence) -> Iterator[Candidate]:
    """`cat([token, x], 1)`: the results of as many places left out again, or the last of the words put in.

    Words that are their own targets are predicted each from those before it: what comes after the last has none.
    """
    every = operands(evidence) if views_joined(evidence) is None else []
    for predicted, wanted in ((every[0], every[1]), (every[1], every[0])) if len(every) > 1 else ():
        for found in _lengthened(evidence, predicted):
            words = _words(evidence, found, wanted)
            if words is not None and found.in_front:
                if found.more == 1:
                    yield from _cut(evidence, found, words, ":-1]")
                index = f"{found.more - 1}:-1" if found.more > 1 else ":-1"
            else:
                index = f"{found.more}:" if found.in_front else f":-{found.more}"
            index += "].contiguous()" if _viewed(evidence, predicted) else "]"
            for place in _results(evidence, found, predicted):
                yield from _cut(evidence, found, place, index)


def _lengthened(evidence: Evidence, operand: Operand) -> Iterator[Lengthened]:
    """The joins on the way to an operand whose lengths, with and without a part, the message's numbers are in."""
    for step in trunk(evidence, operand.start, 30):
        if step.function not in _JOINS or len(step.before) != 2 or not step.shape:
            continue
        sizes = [shape for shape, _ in step.before]
        apart = [d for d, both in enumerate(zip(*sizes, strict=False)) if sum(both) == step.shape[d]]
        for part in (0, 1) if len(apart) == 1 and len(sizes[0]) == len(step.shape) else ():
            more, rest = sizes[part][apart[0]], step.inputs[1 - part]
            if 0 < more < step.shape[apart[0]] and _told(evidence, step.shape[apart[0]], more):
                yield Lengthened(step, apart[0], more, part == 0, rest)


def _told(evidence: Evidence, total: int, more: int) -> bool:
    """Whether two numbers of the message are to each other as the length is to that without the part."""
    return any(
        a * (total - more) == b * total and a % total == 0 and a > b > 0 for a in evidence.said for b in evidence.said
    )


def _words(evidence: Evidence, found: Lengthened, wanted: Operand) -> Place | None:
    """The expression of the words put in, where they are the very ones that are wanted."""
    root = wanted.start
    while root is not None and evidence.steps[root].function in _SAME_ENTRIES:
        root = next(iter(evidence.steps[root].inputs), None)
    for step in chain(evidence, found.rest) if root is not None else ():
        if root in step.inputs[:1]:
            place = next(iter(argument_places(step)), None)
            return place if editable(place) else None
    return None


def _results(evidence: Evidence, found: Lengthened, operand: Operand) -> Iterator[Place]:
    """What the functions around the join made of it last, the innermost first, that still has all of its entries."""
    for around in found.step.places:
        function = around.source.function_at(around.span.line)
        for step in trunk(evidence, operand.start, 30):
            if step is found.step:
                break
            own = [one for one in step.places if one.source.file == around.source.file]
            at = next((one for one in own if one.source.function_at(one.span.line) is function), None)
            whole = len(step.shape) > found.dim and step.shape[found.dim] == found.total
            if at is not None and whole and editable(at):
                yield at
                break


def _viewed(evidence: Evidence, operand: Operand) -> bool:
    """Whether the failing call's operand is a view, which a part of a tensor may not have."""
    return operand.start is not None and evidence.steps[operand.start].function == "view"


def _cut(evidence: Evidence, found: Lengthened, place: Place, index: str) -> Iterator[Candidate]:
    text = f"{as_primary(place)}[{':, ' * found.dim}{index}"
    joined = " ".join(found.step.place.text.split())[:60] if found.step.place is not None else "cat"
    words: dict[str, Any] = {"new": text[:70], "joined": joined, "total": found.total, "more": found.more}
    yield from evidence.replaced(place, text, "insert-method", "as-before-join", **words)
