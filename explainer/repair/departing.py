"""Where the size that a layer is built for departs from the sizes that tensors had on their way to it."""

from __future__ import annotations

import ast
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from explainer.diagnosis import Label, Span
from explainer.edits.evidence import Evidence, Step
from explainer.edits.generators.batch import CREATORS
from explainer.edits.generators.sites import layers_hit, trees_hit
from explainer.edits.generators.slices import chain, operands, trunk
from explainer.edits.place import Place
from explainer.frozen import frozen
from explainer.locale import word
from explainer.repair.spots import statement_around
from explainer.replay.recorders.taint import leaves, literals, parts

Line = tuple[str, int]
Tree = list[Any]
#: Sizes up to this one are met by chance; how far behind the failing call dimensions are looked for that were folded.
_FEW, _NEAR = 3, 6


@frozen
class Departing:
    """The lines that compute the size which the failing layer, or one of the tensors that meet, is made for.

    `met`: what they compute is a size that a tensor had. `first`: it is none, though that is what it is computed of.
    `every`: all that has a part in it.
    `odd`: the places that compute those, with what they give, and what arrives in its place, or 0.
    """

    met: frozenset[Line] = frozenset()
    first: frozenset[Line] = frozenset()
    every: frozenset[Line] = frozenset()
    odd: tuple[tuple[Place, int, int], ...] = ()

    def comes_later(self, line: Line) -> bool:
        """Whether a line has a part in a size that does not fit, and another was the first to compute a wrong one."""
        return bool(self.first) and line in self.every - self.first


@frozen
class _Sizes:
    """The sizes that tensors had on the way; those that make up the size that arrives, where dimensions were folded."""

    had: frozenset[int]
    folded: tuple[int, ...]


def departing(evidence: Evidence) -> Departing:
    """Which lines compute sizes that tensors had, and which are the first that do not."""
    if evidence.departing is None:
        evidence.departing = _departing(evidence)
    return evidence.departing  # type: ignore[no-any-return]


def _departing(evidence: Evidence) -> Departing:
    met: set[Line] = set()
    first: set[Line] = set()
    every: set[Line] = set()
    odd: dict[Line, tuple[Place, int, int]] = {}
    for tree, need, used, sizes in (*_of_layer(evidence), *_of_operands(evidence)):
        _Walk(evidence, sizes, met, first, odd, set()).root(tree, need, used)
        places = [evidence.place(one[-2]) for one in (*parts(tree), *literals(tree))]
        every.update(line for place in places for line in _at(place))
    for length, place in _lengths(evidence):
        every |= _at(place)
        if length is not None:
            first |= _at(place)
            odd[place.source.file, place.line] = place, length, 0
    return Departing(frozenset(met - first), frozenset(first), frozenset(every), tuple(odd.values()))


def departs(evidence: Evidence, language: str) -> tuple[Span, Label, str] | None:
    """The one place that first computes a size that no tensor had: what to write there, and a sentence."""
    found = departing(evidence).odd
    if len(found) != 1:
        return None
    (place, value, need), span = found[0], found[0][0].span
    label = Label(span.file, span.line, word("departs_label", language, value=value), span.column, span.end_column)
    kind = "departs_need" if need else "departs"
    return span, label, word(kind, language, text=f"`{place.short}`", value=value, need=need)


def _of_layer(evidence: Evidence) -> Iterator[tuple[Tree, int, Place | None, _Sizes]]:
    """What the failing layer was built for, and the sizes on the way of what it was given."""
    if layers_hit(evidence):
        sizes = _Sizes(_had(evidence.steps), _folded(evidence))  # what arrives is another size than the number
        yield from ((tree, need, None, sizes) for tree, need in trees_hit(evidence) if int(tree[-1]) != need)


def _of_operands(evidence: Evidence) -> Iterator[tuple[Tree, int, Place | None, _Sizes]]:
    """The sizes that the program gave a tensor itself, which do not fit the other one, and those on the way of that."""
    for apart, behind, known in _pairs(evidence) if not layers_hit(evidence) else ():
        for step in behind[:_NEAR]:
            made = [tree for tree in step.numbers if step.function in CREATORS and int(tree[-1]) in apart]
            yield from ((tree, 0, step.place, _Sizes(_had(known), ())) for tree in made)


def _lengths(evidence: Evidence) -> Iterator[tuple[int | None, Place]]:
    """Where lengths are computed by which one of two tensors was made that do not fit, the last first.

    With the first is the longest that no tensor on the way of the other one has as a size; None with the rest.
    """
    for apart, behind, known in _pairs(evidence):
        had, shared = _had(known), {id(step) for step in known}
        rows = [(step.greatest, step.place) for step in behind if step.place is not None and id(step) not in shared
                and step.greatest is not None and step.function not in CREATORS]  # fmt: skip
        made_so = bool(rows) and rows[0][0] in apart
        odd = [at for at, (most, _) in enumerate(rows) if most not in had] if made_so else []
        yield from ((most if odd[-1:] == [at] else None, place) for at, (most, place) in enumerate(rows if odd else ()))


def _pairs(evidence: Evidence) -> Iterator[tuple[set[int], list[Step], list[Step]]]:
    """Of each operand and another one: the sizes in question that it alone has, and the steps behind the two."""
    for one, other in itertools.permutations(operands(evidence), 2):
        apart, known = (set(one.shape) - set(other.shape)) & set(evidence.said), chain(evidence, other.start)
        if apart and known:
            yield apart, chain(evidence, one.start), known


def _had(steps: Iterable[Step]) -> frozenset[int]:
    shapes = [shape for step in steps for shape, _ in (*_given(step), *step.out)]
    return frozenset(size for shape in shapes for size in shape if size > _FEW)


def _folded(evidence: Evidence) -> tuple[int, ...]:
    """The sizes of the dimensions that were folded into the one that the failing layer reads."""
    crash = evidence.crash
    for step in trunk(evidence, crash.inputs[0] if crash and crash.inputs else None, _NEAR):
        before = step.before[0][0] if step.before else []
        if len(before) > len(step.shape) > 0:
            return tuple((Counter(before) - Counter(step.shape)).elements())
    return ()


def _given(step: Step) -> Sequence[tuple[list[int], str]]:
    """What a call was given, without a layer's own parameters."""
    return step.before[:1] if step.layer is not None else step.before


@frozen
class _Walk:
    """Goes down a number's tree; of the lines in `open` nothing tells whether they are right: sums, small numbers."""

    evidence: Evidence
    sizes: _Sizes
    met: set[Line]
    first: set[Line]
    odd: dict[Line, tuple[Place, int, int]]
    open: set[Line]

    def root(self, tree: Tree, need: int, used: Place | None) -> None:
        """The number itself, which is not what arrives (`need`): its factors, where dimensions were folded.

        `used`: where a tensor is made of it; what is right elsewhere may be wrong there.
        """
        if tree[0] != "op":
            return
        odd = self._odd(tree)
        here, there = self._statement(tree), statement_around(used) if used is not None else None
        if odd is not None:
            if not self._below(odd, here, True):  # it is written there
                self._blame(tree, need=need)
        elif sum(self._below(one, here) for one in (tree[2], tree[3])):  # both are walked
            return
        elif used is not None and here is not there and int(tree[-1]) in self.sizes.had:
            self.met.update(_at(self._place(tree)))
            self.first.add((used.source.file, used.span.line))
        elif self._of_sizes(tree):  # else what it is computed of may be wrong as well
            self._blame(tree, need=need)
            self.first.update(self.open)

    def _odd(self, tree: Tree) -> Tree | None:
        """The one factor of a product that no dimension has of those that were folded; None where there is none."""
        left, odd = Counter(self.sizes.folded), {}
        for one in sorted(_factors(tree), key=lambda one: one[0] == "op") if left else ():
            left[int(one[-1])] -= 1
            if left[int(one[-1])] < 0 and int(one[-1]) > 1:
                odd[int(one[-1])] = one
        return next(iter(odd.values())) if len(odd) == 1 and tree[1] in ("*", "**") else None

    def _below(self, tree: Tree, around: ast.stmt | None, odd: bool = False) -> bool:
        """Whether a number, or what it was computed of, departs; `odd`: it does in any case."""
        if tree[0] != "op":
            return False
        here = self._statement(tree)
        below = [self._below(one, here) for one in (tree[2], tree[3])]
        if any(below) or here is None or here is around:
            return any(below)
        value = int(tree[-1])
        if odd or (value > _FEW and value not in self.sizes.had and self._of_sizes(tree) and not _sums(tree)):
            self._blame(tree, all(int(one[-1]) in self.sizes.had for one in parts(tree)))
            return True
        (self.met if value in self.sizes.had else self.open).update(_at(self._place(tree)))
        return False

    def _of_sizes(self, tree: Tree) -> bool:
        """Whether a number is computed of a size that a tensor had."""
        return any(int(one[-1]) in self.sizes.had for one in leaves(tree))

    def _blame(self, tree: Tree, again: bool = False, need: int = 0) -> None:
        """What computes a number, or the loop around it, where that should have gone on (`again`)."""
        place = self._place(tree)
        loop = place.source.loop_at(place.line) if place is not None and again else None
        if place is not None and (need or int(tree[-1]) not in self.sizes.had):
            self.odd[place.source.file, place.line] = place, int(tree[-1]), need
        if place is not None:
            self.first.update({(place.source.file, loop.lineno)} if loop is not None else _at(place))

    def _place(self, tree: Tree) -> Place | None:
        return self.evidence.place(tree[4]) if tree[4] else None

    def _statement(self, tree: Tree) -> ast.stmt | None:
        place = self._place(tree)
        return statement_around(place) if place is not None else None


def _at(place: Place | None) -> set[Line]:
    """The lines of a place."""
    last = (place.span.end_line or place.line) if place is not None else 0
    return {(place.source.file, line) for line in range(place.line, last + 1)} if place is not None else set()


def _sums(tree: Tree) -> bool:
    """Whether sizes are added up, which need not be joined by themselves: `a + b`, not `n + 1`."""
    own = (one for one in tree[2:4] if one[0] == "lit" and tree[4] and one[1][:2] == tree[4][:2])
    return tree[1] == "+" and not any(own)


def _factors(tree: Tree) -> Iterator[Tree]:
    """What a product is of."""
    if tree[0] == "op" and tree[1] == "*":
        yield from _factors(tree[2])
        yield from _factors(tree[3])
    elif tree[0] == "op" and tree[1] == "**":
        yield from _factors(tree[2])
    else:
        yield tree
