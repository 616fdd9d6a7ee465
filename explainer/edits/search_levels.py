"""Candidates for layers put where they are beyond any memory: attention at a coarser level, or over larger patches."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from explainer.bindings import given_to_name, last_name, name_of_value
from explainer.edits.arguments import argument_node
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Call, Evidence, Layer, Step, Tree
from explainer.edits.expressions import evaluated
from explainer.edits.lines import EditError, changed
from explainer.edits.loops import Loop, loops_around
from explainer.edits.place import Place
from explainer.edits.search_literals import leaves
from explainer.edits.sites import enclosing
from explainer.edits.slices import operands, trunk
from explainer.frozen import frozen

_COLLECTIONS = (ast.Tuple, ast.List, ast.Set)
_SWAPPED = {ast.LtE: ast.GtE, ast.Lt: ast.Gt, ast.Eq: ast.Eq}
_FOLLOWED = 5
#: The length from which a window is long; sides of patches, the usual one first; the most places left by them.
_LONG = 16
_PATCHES, _PLACES = (16, 8, 32, 4, 64, 2), 16_384


@frozen
class Test:
    """A condition under which a layer was built, with the call in whose function it stands."""

    node: ast.expr
    call: Call


def coarser(evidence: Evidence) -> Iterator[Candidate]:
    """`attention_levels = (0,)` -> `(3,)`: a layer built at a level as a setting says, at a later level instead."""
    for layer in [one for one in reversed(evidence.on_stack) if one.own and one.calls]:
        for test in _tests(layer):
            yield from _flagged(evidence, test)
            if isinstance(test.node, ast.Compare) and len(test.node.ops) == 1:
                yield from _compared(evidence, test, test.node)


def _tests(layer: Layer) -> Iterator[Test]:
    """The conditions around the calls that led to a layer, innermost first, through parameters to what was given."""
    for depth, call in enumerate(layer.calls):
        for node in _conditions(call.place):
            at, given = depth, node
            while isinstance(given, ast.Name) and at + 1 < len(layer.calls):
                outer, names = layer.calls[at + 1], enclosing(layer.calls[at].place)
                passed = _passed(outer.place, given.id, names or [])
                if passed is None:
                    break
                at, given = at + 1, passed
            yield Test(given, layer.calls[at])


def _passed(call: Place, name: str, names: list[str]) -> ast.expr | None:
    try:
        return argument_node(call, name, names) if name in names else None
    except EditError:
        return None


def _conditions(place: Place) -> Iterator[ast.expr]:
    """The tests of the `if`s whose body, not its `else`, holds a place, innermost first."""
    holding = []
    for node in place.source.nodes():
        parts: Sequence[ast.AST] = ()
        if isinstance(node, ast.If):
            parts = node.body
        elif isinstance(node, ast.IfExp):
            parts = [node.body]
        if any(one is place.node for part in parts for one in ast.walk(part)):
            holding.append(node)
    yield from (node.test for node in reversed(holding))  # type: ignore[attr-defined]


def _compared(evidence: Evidence, test: Test, node: ast.Compare) -> Iterator[Candidate]:
    """`level in levels`, `level == n` and `level >= n`, with another setting that holds at a later level."""
    left, right, sign = node.left, node.comparators[0], type(node.ops[0])
    loops = loops_around(test.call.place)
    later = _later(test, left, loops)
    if not later and sign in _SWAPPED:
        left, right, sign = right, left, _SWAPPED[sign]  # type: ignore[assignment]
        later = _later(test, left, loops)
    now = evaluated(left, test.call.scope)
    for place in _literals(evidence, test.call.place, right) if later and now is not None else ():
        if sign is ast.In and isinstance(place.node, _COLLECTIONS):
            yield from _of_several(evidence, place, now, later)
        elif sign in (ast.Eq, ast.GtE, ast.Gt) and isinstance(place.node, ast.Constant):
            for value in later:
                yield from _put(evidence, place, str(value - (sign is ast.Gt)))


def _later(test: Test, node: ast.expr, loops: list[Loop]) -> list[int]:
    """What an expression is in the passes of a loop that come after the present one, the last first."""
    for loop in loops:
        values = loop.values(node, test.call.scope)
        now = evaluated(node, test.call.scope)
        if now in values:
            return list(dict.fromkeys(values[: values.index(now) : -1]))
    return []


def _of_several(evidence: Evidence, place: Place, now: Any, later: list[int]) -> Iterator[Candidate]:
    """A collection of levels without the present one: those of it that come later, else one that does."""
    elements = place.node.elts  # type: ignore[union-attr]
    values = [one.value for one in elements if isinstance(one, ast.Constant)]
    if now not in values or len(values) != len(elements):
        return
    kept = [value for value in values if value in later]
    if kept:
        yield from _put(evidence, place, _spelt(place, kept))
    for value in later:
        yield from _put(evidence, place, _spelt(place, [value]))


def _spelt(place: Place, values: Sequence[Any]) -> str:
    plain = tuple(values) if isinstance(place.node, ast.Tuple) else list(values)
    text = repr(plain)
    return f"{{{text[1:-1]}}}" if isinstance(place.node, ast.Set) else text


def _flagged(evidence: Evidence, test: Test) -> Iterator[Candidate]:
    """`(True, False, False)` -> `(False, False, True)`: flags of the levels that a loop goes through or indexes."""
    for loop in loops_around(test.call.place):
        for place in _literals(evidence, test.call.place, loop.sequence(test.node)):
            elements = place.node.elts if isinstance(place.node, (ast.Tuple, ast.List)) else []
            flags = [one.value for one in elements if isinstance(one, ast.Constant)]
            if len(flags) > 1 and len(flags) == len(elements) and set(flags) <= {True, False} and True in flags[:-1]:
                flags[flags.index(True)] = False
                flags[-1] = True
                yield from _put(evidence, place, _spelt(place, flags))


def _put(evidence: Evidence, place: Place, new: str) -> Iterator[Candidate]:
    what = name_of_value(place.source, place.node) or place.text
    words: dict[str, Any] = {"old": place.text, "new": new, "what": what}
    yield from evidence.replaced(place, new, "replace-literal", "coarser", literal=True, **words)


def _literals(evidence: Evidence, at: Place, node: ast.expr | None) -> Iterator[Place]:
    """The literals that an expression may be: itself, or what any file gives to its name, through other names."""
    if isinstance(node, (*_COLLECTIONS, ast.Constant)):
        yield at.at(node)
        return
    names = [last_name(node)] if node is not None else []
    for name in names[:_FOLLOWED]:
        for source in evidence.sources_seen() if name else ():
            for value in given_to_name(source, name):
                if isinstance(value, (*_COLLECTIONS, ast.Constant)):
                    yield Place(source, value)
                elif last_name(value) not in names:
                    names.append(last_name(value))


def larger_patches(evidence: Evidence) -> Iterator[Candidate]:
    """`patch_size=1` -> `16`: fewer places, where each attends to each of a map that a convolution cut in patches."""
    for step in [one for operand in operands(evidence) for one in trunk(evidence, operand.start)]:
        sides = step.before[0][0][2:] if step.before else []
        places = _patch_sides(evidence, step.layer)
        kernel = int(places[0].text) if places else 0
        for side in _PATCHES if places else ():
            fits = side > kernel and side % kernel == 0 and all(size % side == 0 for size in sides)
            if fits and sides and all((size // side) ** 2 <= _PLACES for size in sides):
                edits = partial(changed, places[0].source, [(one.span, str(side)) for one in places])
                words: dict[str, Any] = {"old": kernel, "new": side}
                yield from evidence.made(edits, "replace-literal", places[0], "larger-patches", literal=True, **words)


def _patch_sides(evidence: Evidence, layer: Layer | None) -> list[Place]:
    """The literals that give a convolution the one size for its kernel and its stride; empty where it has two."""
    if layer is None or not layer.type.startswith("Conv") or layer.value("kernel_size") != layer.value("stride"):
        return []
    both = [leaves(layer.numbers[name], 0) for name in ("kernel_size", "stride")]
    found = [evidence.place(leaf[1]) for leaf in leaves([leaf for one in both for leaf in one], 0)]
    places = [one for one in found if one is not None and one.text == str(layer.value("stride"))]
    return places if all(both) and len({one.source.file for one in places}) == 1 else []


def longer_steps(evidence: Evidence) -> Iterator[Candidate]:
    """`unfold(1, 400, 1)` -> `200`: long windows that move by less, of which each attends to every other."""
    for step in [one for operand in operands(evidence) for one in trunk(evidence, operand.start)]:
        window = _window(step)
        if window is None or window[0] < _LONG or 4 * int(window[1][-1]) > window[0]:
            continue
        for leaf in leaves([window[1]], 0):
            place = evidence.place(leaf[1])
            if place is not None and leaf[-1] == window[1][-1]:
                words: dict[str, Any] = {"old": leaf[-1], "new": window[0] // 2, "window": window[0]}
                yield from evidence.replaced(
                    place, str(window[0] // 2), "replace-literal", "longer-steps", literal=True, **words
                )
        return


def _window(step: Step) -> tuple[int, Tree] | None:
    """The length of the windows that a call cuts, and the number by which they move."""
    if step.function == "unfold" and len(step.numbers) == 3:
        return int(step.numbers[1][-1]), step.numbers[2]
    if step.function == "conv1d" and step.layer is not None and step.layer.numbers.get("stride"):
        return step.layer.value("kernel_size") or 0, step.layer.numbers["stride"][0]
    return None
