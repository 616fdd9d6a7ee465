"""Patterns in text: the letters of an einsum, the axes and groups of `'b n (h d) -> b h n d'`."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Sequence

from explainer.edits.evidence import Evidence
from explainer.repair.atoms.common import calls, shape_of, text
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot

Group = tuple[str, ...]
Side = tuple[Group, ...]
#: The most letters of a term of which every order is tried.
_LONGEST = 5
_MOST = 60
#: What it is worth that a letter that all terms have, as the batch, is in the result, or one that a single term has:
#: what is summed away is mostly what two terms share.
_BATCH, _ONCE = 0.9, 0.7
#: What a change of the left side costs more: what comes in is as it is.
_LEFT = 0.25
#: What it costs that a pattern is turned around: what it splits was to be joined.
_TURNED = 0.4
_PLAIN = re.compile(r"[A-Za-z_]\w*$")


def pattern(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """A pattern with one axis, group or letter moved, renamed, left out or put in, such that its sides still agree."""
    for node in calls(spot):
        for given in [*node.args, *(word.value for word in node.keywords)]:
            if isinstance(given, ast.Constant) and isinstance(given.value, str) and "->" in given.value:
                quote = text(spot, given)[:1] if text(spot, given)[:1] in "\"'" else '"'
                known = {word.arg for word in node.keywords if word.arg}
                rank = _rank(spot, evidence, node)
                made = (
                    _equations(given.value, _shapes(spot))
                    if _is_equation(given.value)
                    else _axes(given.value, known, rank)
                )
                for new, weight in itertools.islice(made, _MOST):
                    yield Offer("pattern", spot, given, f"{quote}{new}{quote}", "pattern", weight)


def _is_equation(pattern: str) -> bool:
    """Whether a pattern is of several operands, an einsum's, or of axes in groups."""
    return "," in pattern or ("(" not in pattern and " " not in pattern.replace("->", "").strip())


def _rank(spot: Spot, evidence: Evidence, node: ast.Call) -> int | None:
    """How many dimensions the rearranged tensor has, where that is known."""
    shapes = [shape_of(spot, one, evidence) for one in node.args[:1] if spot.role == "crash"]
    return len(shapes[0]) if shapes and shapes[0] else None


def _shapes(spot: Spot) -> list[list[int]]:
    step = spot.step
    return [shape for shape, _ in step.before] if step is not None and step.function == "einsum" else []


# --- einsum


def _equations(pattern: str, shapes: list[list[int]]) -> Iterator[tuple[str, float]]:
    left, _, right = pattern.partition("->")
    spaced = any(" " in term.strip() for term in [*left.split(","), right])
    read = lambda term: tuple(term.split()) if spaced else tuple(term.strip())  # noqa: E731
    terms, out = [read(term) for term in left.split(",")], read(right)
    joint = " " if spaced else ""
    wide = ", " if ", " in left else ","
    arrow = " -> " if " -> " in pattern else "->"
    seen = {(tuple(terms), out)}
    for new, last, weight in sorted(_neighbours(terms, out), key=lambda one: one[2]):
        key = (tuple(new), last)
        if key not in seen and _agrees(new, last, shapes):
            seen.add(key)
            yield wide.join(joint.join(term) for term in new) + arrow + joint.join(last), weight


def _neighbours(terms: list[Group], out: Group) -> Iterator[tuple[list[Group], Group, float]]:
    letters = dict.fromkeys(letter for term in [*terms, out] for letter in term)
    for at, term in enumerate(terms):
        for new, weight in _of_term(term, list(letters)):
            yield [*terms[:at], new, *terms[at + 1 :]], out, weight
        yield [*terms[:at], out, *terms[at + 1 :]], term, 0.5
    always = {letter for letter in letters if all(letter in term for term in terms)} - set(out)
    once = {letter for letter in letters if sum(letter in term for term in terms) == 1} - set(out)
    for new, weight in _of_term(out, list(letters)):
        yield terms, new, weight - _BATCH * bool(always & set(new)) - _ONCE * bool(once & set(new))
    if len({len(term) for term in terms}) == 1 < len(terms):  # operands that are all laid out otherwise
        for one, other in itertools.combinations(range(len(terms[0])), 2):
            yield [_turned(term, one, other) for term in terms], out, 0.3
    for one, other in itertools.combinations(range(len(terms)), 2):
        swapped = list(terms)
        swapped[one], swapped[other] = terms[other], terms[one]
        yield swapped, out, 0.5
        yield from ((_exchanged(terms, one, other), out, 0.9),)


def _turned(term: Group, one: int, other: int) -> Group:
    """A term with two letters exchanged."""
    new = list(term)
    new[one], new[other] = term[other], term[one]
    return tuple(new)


def _exchanged(terms: list[Group], one: int, other: int) -> list[Group]:
    """Two terms' last letters exchanged."""
    new = list(terms)
    new[one], new[other] = (*terms[one][:-1], terms[other][-1]), (*terms[other][:-1], terms[one][-1])
    return new


def _of_term(term: Group, letters: Sequence[str]) -> Iterator[tuple[Group, float]]:
    if 1 < len(term) <= _LONGEST:
        for turned in itertools.permutations(term):
            moved = sum(a != b for a, b in zip(turned, term, strict=True))
            yield turned, 0.2 if moved == 2 else 0.8
    for at in range(len(term)):
        yield from (((*term[:at], letter, *term[at + 1 :]), 0.6) for letter in letters if letter not in term)
        yield (*term[:at], *term[at + 1 :]), 1.0
    for at in range(len(term) + 1):
        yield from (((*term[:at], letter, *term[at:]), 1.0) for letter in letters if letter not in term)


def _agrees(terms: list[Group], out: Group, shapes: list[list[int]]) -> bool:
    letters = {letter for term in terms for letter in term}
    if len(set(out)) != len(out) or not set(out) <= letters or not all(terms):
        return False
    if not shapes or any("..." in term for term in terms) or len(shapes) != len(terms):
        return not shapes or len(shapes) == len(terms)
    if [len(term) for term in terms] != [len(shape) for shape in shapes]:
        return False
    sizes: dict[str, int] = {}
    pairs = [pair for term, shape in zip(terms, shapes, strict=True) for pair in zip(term, shape, strict=True)]
    return all(sizes.setdefault(letter, size) == size for letter, size in pairs)


# --- axes in groups


def _axes(pattern: str, known: set[str], rank: int | None = None) -> Iterator[tuple[str, float]]:
    left, _, right = pattern.partition("->")
    sides = _read(left), _read(right)
    if None in sides:
        return
    one, other = sides
    found: dict[tuple[Side, Side], float] = {}
    for new, weight in _of_side(one, other, known):  # type: ignore[arg-type]
        found.setdefault((new, other), weight + _LEFT)  # type: ignore[arg-type]
    for new, weight in _of_side(other, one, known):  # type: ignore[arg-type]
        found.setdefault((one, new), weight)  # type: ignore[arg-type]
    for (first, last), weight in sorted(_both(one, other).items(), key=lambda item: item[1]):  # type: ignore[arg-type]
        found.setdefault((first, last), weight)
    found.setdefault((other, one), _TURNED)  # type: ignore[arg-type]
    found.pop((one, other), None)  # type: ignore[arg-type]
    arrow = " -> " if " -> " in pattern else "->"
    wide = left != left.strip() or right != right.strip() or arrow == " -> "
    loose = _loose(one, other, known)  # type: ignore[arg-type]
    for (first, last), weight in sorted(found.items(), key=lambda item: item[1]):
        if rank is not None and len(first) != rank and ("...",) not in first:
            continue
        if _loose(first, last, known) <= min(loose, 1) if loose else _sound(first, last, one, other):  # type: ignore[arg-type]
            yield (
                f"{_written(first)}{arrow if wide else '->'}{_written(last)}",
                weight + max(_loose(first, last, known) - loose, 0),
            )


def _loose(left: Side, right: Side, known: set[str]) -> int:
    """How many axes stand on one side alone, or have a size and no place: of a plain rearrangement there are none."""
    one, other = _names(left), _names(right)
    return len(one ^ other) + len(known - (one | other) - {"reduction"})


def _sound(left: Side, right: Side, was: Side, then: Side) -> bool:
    """Whether a changed pattern has the names of before on each side: one that adds or drops axes keeps doing so.

    An axis that was handed through may be gone on both.
    """
    same = _names(left) == _names(was) and _names(right) == _names(then)
    renamed = _names(left) | _names(right) == _names(was) | _names(then)
    gone = _names(was) - _names(left)
    through = len(gone) == 1 and gone == _names(then) - _names(right) and _names(left) == _names(right)
    return same or renamed or through


def _both(one: Side, other: Side) -> dict[tuple[Side, Side], float]:
    """Changes that touch both sides: an axis taken out on each, a group of one side put in on the other."""
    found: dict[tuple[Side, Side], float] = {}
    for name in sorted(_names(one) & _names(other)):
        alone = (name,) in one and (name,) in other  # one that is handed through whole
        found[(_lacking(one, name), _lacking(other, name))] = 0.9 if alone else 1.4
    return found


def _lacking(side: Side, name: str) -> Side:
    return tuple(group for group in (tuple(x for x in one if x != name) for one in side) if group)


def _names(side: Side) -> set[str]:
    return {name for group in side for name in group if _PLAIN.match(name)}


def _read(side: str) -> Side | None:
    """The groups of one side of a pattern; an empty group is an axis of size 1; None where it cannot be read."""
    found: list[Group] = []
    inner: list[str] | None = None
    for token in re.findall(r"\(|\)|\.\.\.|[^\s()]+", side):
        if token == "(":
            inner = []
        elif token == ")":
            if inner is None:
                return None
            found.append(("(", *inner))
            inner = None
        elif inner is not None:
            inner.append(token)
        else:
            found.append((token,))
    return None if inner is not None else tuple(found)


def _written(side: Side) -> str:
    return " ".join(f"({' '.join(group[1:])})" if group[:1] == ("(",) else " ".join(group) for group in side)


def _of_side(side: Side, other: Side, known: set[str]) -> Iterator[tuple[Side, float]]:
    count = len(side)
    for one, two in itertools.combinations(range(count), 2):
        new = list(side)
        new[one], new[two] = side[two], side[one]
        yield tuple(new), 0.2 + 0.15 * (two - one - 1) + 0.4 * (one == 0)
    for at, group in enumerate(side):
        put = lambda *groups, at=at: (*side[:at], *groups, *side[at + 1 :])  # noqa: E731
        if group[:1] == ("(",):
            yield put(*((name,) for name in group[1:])), 0.3  # the group opened
            for turned in itertools.permutations(group[1:]) if len(group) <= 4 else ():
                yield put(("(", *turned)), 0.2
            for name in group[1:]:
                yield put(("(", *(one for one in group[1:] if one != name))), 0.9
            yield from ((put(("(", *group[1:], name)), 0.5) for name in _absent(side, other, known))
            yield from ((put(("(", name, *group[1:])), 0.5) for name in _absent(side, other, known))
            yield put(("1",)) if len(group) == 1 else put(group[1:2]), 0.9
        else:
            yield from ((put((name,)), 0.5) for name in _absent(side, other, known))
            if at + 1 < count and side[at + 1][:1] != ("(",):
                yield (*side[:at], ("(", *group, *side[at + 1]), *side[at + 2 :]), 0.3 + 0.3 * (at == 0)
            if at + 1 < count and side[at + 1][:1] == ("(",):
                yield (*side[:at], ("(", *group, *side[at + 1][1:]), *side[at + 2 :]), 0.6
            if at and side[at - 1][:1] == ("(",):
                yield (*side[: at - 1], (*side[at - 1], *group), *side[at + 1 :]), 0.6
        yield put(), 0.8
    for name in _absent(side, other, known):
        yield from (((*side[:at], (name,), *side[at:]), 0.3) for at in range(count + 1))
    yield from (((*side[:at], ("1",), *side[at:]), 1.2) for at in range(count + 1))


def _absent(side: Side, other: Side, known: set[str]) -> list[str]:
    """The axes that the other side has, or that have a size, and this one lacks."""
    return sorted((_names(other) | known) - _names(side) - {"reduction"})
