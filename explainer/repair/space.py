"""All that the atoms offer at all places of a crash, each edit once, the most likely first."""

from __future__ import annotations

import ast
import functools
import itertools
import logging
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.changes import silences
from explainer.edits.evidence import Evidence
from explainer.edits.generators.slices import collated, parting, ragged
from explainer.edits.place import Place
from explainer.frozen import frozen
from explainer.patterns import Pattern
from explainer.repair.agreement import idles
from explainer.repair.atoms import ATOMS
from explainer.repair.atoms.common import greatest, integer, lengths, statement_of
from explainer.repair.atoms.draws import chosen, end_of
from explainer.repair.atoms.lengths import fills
from explainer.repair.meeting import above
from explainer.repair.odd import counted
from explainer.repair.offer import Offer
from explainer.repair.prior import FILLING, atoms_for, cost
from explainer.repair.sense import changes_kind, reads_unbound, senseless
from explainer.repair.siblings import again, renamed, terms, twins
from explainer.repair.spots import Spot, spots
from explainer.source import called

#: What each further offer of one kind at one node costs, each further one of any kind at its line, and at most.
_FURTHER, _BESIDE, _MOST = 0.06, 0.02, 0.8
#: What it is worth that the new text stands elsewhere in the file, and of how many characters it must be at least, or
#: to count twice.
_WRITTEN, _SHORT, _LONG = -0.4, 6, 14
#: What makes random data, or reads them.
_RANDOM = ("rand", "randn", "randint", "normal", "uniform", "standard_normal", "random", "frombuffer", "fromfile",
           "manual_seed", "seed", "manual_seed_all", "default_rng")  # fmt: skip
#: What makes a tensor of entries that are written out, which are data, too.
_WRITTEN_OUT = ("tensor", "as_tensor", "array", "asarray", "LongTensor", "FloatTensor")
#: What makes a model's own values of random ones.
_WEIGHTS = ("Parameter", "Buffer", "register_parameter", "register_buffer")
#: What is not to blame where the same call went well with other data; elsewhere on its way it costs more.
_OF_CALL = ("layout", "dimension", "swap", "pattern", "unwrap", "operator", "literal", "call", "drop", "projection",
            "size")  # fmt: skip
_WENT_WELL, _STAYED = 0.6, 1.6
#: What it costs that all that meets at the failing call would be changed alike.
_ABOVE = 1.5
#: What it costs that a value of another kind comes in: an optimizer in the place of a model.
_OTHER_KIND = 1.5
#: What makes a size one larger or smaller, and what it is worth where the sizes that meet differ by one, or where so
#: many times the size is just what the greatest index asks for.
_BY_ONE = ("up", "one", "beside", "ceiling", "windows", "[:-1]", "[1:]", "[:, :-1]", "[:, 1:]")
_ONE_APART = -1.2
#: How many steps are near the failing call, and from which size on one more or less is no other number altogether.
_NEAR, _FEW = 8, 4
#: What it is worth that a size becomes as much larger, or smaller, as the sizes that meet differ by.
_AS_MUCH = -1.0
#: What may be wrong wherever it is said, and what it costs to change it everywhere.
_OF_NUMBERS, _TWICE = ("size", "literal", "measure", "name"), 0.2
#: What changes a size.
_OF_SIZES = ("size", "literal", "operator")
#: What may be wrong in several terms of one expression alike, which fail one after the other.
_OF_TERMS = ("layout", "slice", "unwrap", "keyword", "call", "dimension", "sizes", "index", "pattern")
#: What can change where a tensor lies: kinds of edits, and words that others bring or take away.
_MOVING = ("copied", "block", "value", "name", "uncalled", "placed")
_DEVICES = {"to", "cpu", "cuda", "device", "meta", "assign", "persistent", "register_buffer", "to_empty"}
#: What takes a step away: no repair of samples that it gave different sizes, as it is meant to.
_UNDOING = ("slice", "unwrap", "statement", "call", "drop")
#: What is said of a matrix whose values depend on how it was laid out: samples in its rows, or in its columns.
_OF_MATRIX = Pattern(r"positive.definite|singular|ill-conditioned|failed to converge")
#: What gives another length, or what it is the length of.
_OF_LENGTHS = ("measure", "derived")
_log = logging.getLogger(__name__)
#: Nodes, each with the names in it that stand for those of an offer.
_Rows = Sequence[tuple[ast.AST, Mapping[str, str]]]


@frozen
class Proposal:
    """A candidate with what speaks against it; `atom` is the kind of edit, empty for that of a generator."""

    candidate: Candidate
    cost: float
    atom: str = ""


def space(evidence: Evidence, most: int = 1200, family: str = "") -> list[Proposal]:
    """The proposals of all atoms that suit a family at all places, the most likely first."""
    offers: dict[Any, tuple[float, Offer]] = {}
    for offer in _offers(evidence, family):
        node: Any = offer.node
        span = node.lineno, node.col_offset, node.end_lineno, node.end_col_offset
        key = (offer.place.source.file, *span, offer.text, len(offer.twins), offer.more)
        worth = cost(offer) + _elsewhere(offer)
        if key not in offers or worth < offers[key][0]:
            offers[key] = worth, offer
    return list(_proposals(_mixed(offers.values()), evidence, most))


def _of_data(offer: Offer, evidence: Evidence) -> bool:
    """Whether an offer changes random data: its sizes stand for those of real data, unless they follow those."""
    around = list(offer.place.source.up_from(offer.node))
    calls = [one for one in around if isinstance(one, ast.Call)]
    ends = [end for end in map(end_of, calls) if end is not None and chosen(end, evidence)]
    if any(one is end for one in around for end in ends):
        return False
    names = {called(one) for one in calls}
    if (
        names & set(_WRITTEN_OUT)
        and isinstance(offer.node, ast.Constant)
        and any(isinstance(one, ast.List) for one in around[1:2])
    ):
        return True
    if offer.atom == "started" or offer.filler == "measured" or names & set(_WEIGHTS):
        return False  # noise follows the data that it goes with
    return any(one is offer.node or not isinstance(offer.node, ast.Call) for one in calls if called(one) in _RANDOM)


def _twice(offer: Offer) -> bool:
    """Whether a part of a tensor would be taken twice, and another no more: `a, b = x[:h], x[:h]`."""
    source, node = offer.place.source, offer.node
    parent = source.parent_of(node)
    beside = getattr(parent, "elts", None) or getattr(parent, "args", None) or ()
    cuts = isinstance(node, ast.Subscript) and node in beside
    return cuts and any(source.text(one) == offer.text for one in beside if one is not node)


def _scaled(offer: Offer) -> bool:
    """Whether a size is so many times what it was, or half of it: whatever is indexed has room, any smaller index fits.

    No index is any better then.
    """
    return offer.filler == "factor" and bool(re.search(r" (?:\* \d|// 2)$", offer.text))


def _exact(offer: Offer, last: int | None) -> bool:
    """Whether so many times a size, or one more, is just what the `last` index asks for."""
    form = re.search(r" (\* \d|\+ 1)$", offer.text) if offer.filler == "factor" and last is not None else None
    old = integer(offer.spot, offer.node) if form is not None else None  # type: ignore[arg-type]
    if form is None or last is None or not old:
        return False
    return (old + 1 if form[1] == "+ 1" else old * int(form[1][2:])) == last + 1


def _one_apart_within(evidence: Evidence) -> bool:
    """Whether of two sizes one is the other with one dimension, which tensors had on the way, larger or smaller by one.

    320 and 336 are 16 * 20 and 16 * 21: twenty frames were counted where there are twenty-one.
    """
    sizes = {size for step in evidence.steps[:_NEAR] for shape, _ in step.before for size in shape if size > _FEW}
    pairs = itertools.permutations([one for one in evidence.said if one > 1][:4], 2)
    return any(one * (size - 1) == other * size for one, other in pairs for size in sizes if one % size == 0)


def _fitted_to_data(offer: Offer, count: Place | None) -> bool:
    """Whether a number is changed that is added to what was read from data: the next data hold another one."""
    numbers = offer.atom in ("literal", "solved") or (offer.atom == "operator" and offer.filler == "one")
    return numbers and count is not None and any(one is offer.node for one in ast.walk(count.node))


def _stands_at(spot: Spot, place: Place) -> bool:
    return spot.place.source.file == place.source.file and spot.place.span.line == place.span.line


def _makes_up(offer: Offer, apart_by: Collection[int]) -> bool:
    """Whether a size becomes larger or smaller by just so much: one of several that were joined, or added up."""
    if offer.filler in ("solved", "shifted") or not isinstance(offer.node, ast.expr) or not apart_by:
        return False
    text = offer.text
    added = text.removeprefix(f"{offer.place.text} + ")
    if added != text:  # `n` -> `n + k`
        return offer.spot.scope.get(added) in apart_by
    new = int(text) if text.isdigit() else offer.spot.scope.get(text)
    if offer.filler != "proportional" and type(new) is not int:
        return False
    old = integer(offer.spot, offer.node)
    if offer.filler == "proportional" and old is not None:  # `n` -> `2 * n`, with which one of the sizes is the other
        return text.replace(offer.place.text, "").strip(" 0123456789()") in ("*", "//")
    return old is not None and type(new) is int and abs(new - old) in apart_by


def _of_check(offer: Offer) -> bool:
    """Whether an offer changes what the program asserts of itself."""
    return isinstance(statement_of(offer.spot, offer.node), ast.Assert)


def _moves(offer: Offer) -> bool:
    """Whether an offer can change where a tensor lies: sizes and layouts do not; a model is not to stay behind."""
    old, new = (set(re.findall(r"\w+", text)) for text in (offer.place.text, offer.text))
    if offer.atom in ("unwrap", "drop"):
        return bool((old - new) & {"cpu", "meta"})
    if offer.atom == "order":
        return bool(new & _DEVICES)
    return offer.atom in _MOVING or bool((old ^ new) & _DEVICES)


def _elsewhere(offer: Offer) -> float:
    """What it is worth that the new text stands somewhere else in the file, as a sibling has it, which works."""
    if len(offer.text) < _SHORT or offer.text not in offer.place.source.whole:
        return 0.0
    if offer.place.source.whole.count(offer.text) <= offer.place.text.count(offer.text):  # a part of what stands there
        return 0.0
    return _WRITTEN if len(offer.text) < _LONG else 2 * _WRITTEN


def _mixed(offers: Iterable[tuple[float, Offer]]) -> list[tuple[float, Offer]]:
    """Offers by their cost, of which each further one of a kind at a node, or at a line, costs more."""
    met: Counter[Any] = Counter()
    found = []
    for worth, offer in sorted(offers, key=lambda one: one[0]):
        kind, line = (id(offer.node), offer.atom), (offer.place.source.file, offer.place.span.line)
        found.append((worth + min(_FURTHER * met[kind] + _BESIDE * met[line], _MOST), offer))
        met[kind] += 1
        met[line] += 1
    return sorted(found, key=lambda one: one[0])


def _proposals(ranked: list[tuple[float, Offer]], evidence: Evidence, most: int) -> Iterator[Proposal]:
    seen: set[Any] = set()
    apart = _one_apart_within(evidence)
    for worth, offer in ranked:
        candidate = offer.candidate(evidence)
        if candidate is None or candidate.edits in seen or silences(candidate):
            continue
        if not _repeats(offer) and not idles(candidate):
            seen.add(candidate.edits)
            counted = apart and offer.filler == "one" and isinstance(getattr(offer.node, "op", None), ast.FloorDiv)
            exact = counted or _asked_for(offer, evidence) or offer.filler == "absent"
            yield Proposal(replace(candidate, exact=True) if exact else candidate, worth, offer.atom)
            if len(seen) >= most:
                return


def _asked_for(offer: Offer, evidence: Evidence) -> bool:
    """Whether a number is put there that is just one more than the largest index: none is left without a place."""
    last, text = greatest(evidence), offer.text.rpartition("=")[2]
    if last is None:
        return False
    known = {**offer.spot.scope, **lengths(offer.spot, evidence)}
    return any(one == str(last + 1) or known.get(one) == last + 1 for one in (text, text.removesuffix(")")))


def _repeats(offer: Offer) -> bool:
    """Whether a statement would say what one beside it says: it would do that twice, and not what it is there for."""
    edits, source = offer.edits(), offer.place.source
    own = source.statement_at(edits[0].start_line) if len(edits) == 1 and offer.atom != "sibling" else None
    if own is None or not isinstance(own, (ast.Expr, ast.Assign)) or edits[0].start_line != own.lineno:
        return False
    try:
        made = ast.parse((edits[0].after or "").strip()).body
    except SyntaxError:
        return False
    said = _said(made[0]) if len(made) == 1 else None
    return said is not None and any(_said(one) == said for one in source.block_of(own) if one is not own)


@functools.lru_cache(1024)
def _said(statement: ast.stmt) -> str | None:
    """What a statement computes, whatever takes it."""
    value = statement.value if isinstance(statement, (ast.Expr, ast.Assign)) else None
    return ast.unparse(value) if isinstance(value, (ast.Call, ast.Subscript)) else None


def _doubled(offers: Iterable[Offer], known: dict[tuple[int, bool], Sequence[_Rows]]) -> Iterator[Offer]:
    """Offers, each with what it makes of all that says the same in the function, or in terms beside its own.

    `known` keeps what that is, by the node.
    """
    for one in offers:
        yield one
        numbers, filler = one.atom in _OF_NUMBERS, one.filler not in ("near", "factor")
        if one.twins or not filler or not (numbers or one.atom in _OF_TERMS):
            continue
        key = id(one.node), numbers
        if key not in known:
            known[key] = list(_alike(one.place)) if numbers else [terms(one.place)]
        for group in known[key]:
            rows = tuple((node, renamed(one.text, names)) for node, names in group)
            if rows:
                yield replace(one, twins=rows, weight=one.weight + _TWICE)


def _alike(place: Place) -> Iterator[_Rows]:
    """What says the same as a place does: in the same role in its function, and in any role in its statement."""
    same, beside = twins(place), again(place)
    yield [(node, {}) for node in same]
    if set(beside) - set(same):
        yield [(node, {}) for node in beside]


def _offers(evidence: Evidence, family: str) -> Iterator[Offer]:
    family = "dataloader" if collated(evidence) else family
    making = evidence.crash is not None and evidence.crash.function == "__init__"
    if family == "dataloader" and making and not evidence.loading:  # of a dataset, whose tensors have wrong sizes
        family = "shape"
    family = "shape" if _OF_MATRIX.search(evidence.message) else family
    atoms = {name: ATOMS[name] for name in atoms_for(family, "shape" in evidence.message)}
    parted = parting(evidence)
    count = counted(evidence)
    near = any(abs(one - other) == 1 and min(one, other) > 3 for one, other in itertools.pairwise(evidence.said))
    near = near or _one_apart_within(evidence)
    sizes = [one for one in evidence.said if one > 1]
    apart_by = {abs(one - other) for one, other in itertools.pairwise(sizes)} - {0, 1}
    roomy = family == "index" or (evidence.crash is not None and evidence.crash.function == "__setitem__")
    last, higher = greatest(evidence), above(evidence)
    if family == "dataloader" and "out of" in evidence.message:  # an index of a sample: of another dataset's length
        atoms |= {name: ATOMS[name] for name in _OF_LENGTHS}
    filling = FILLING if family == "dataloader" and ragged(evidence) else ()
    atoms |= {name: ATOMS[name] for name in filling}
    alike: dict[tuple[int, bool], Sequence[_Rows]] = {}
    twice: set[tuple[int, str]] = set()  # what would say the same twice, as the nearest spot knows
    for spot in spots(evidence):
        undoes = parted is not None and parted.place is not None and _stands_at(spot, parted.place)
        for name, atom in atoms.items():
            if (
                (family == "dataloader" and name == "swap" and spot.role != "made")
                or (undoes and name in _UNDOING)
                or (spot.role == "after" and name != "order")
            ):
                continue
            went_well = evidence.passed and name in _OF_CALL
            stays, numbers = went_well and spot.role == "crash", name in _OF_NUMBERS
            try:
                for one in _doubled(atom(spot, evidence), alike):
                    if stays and numbers and one.filler != "measured":  # which follows the data
                        continue
                    exact = _exact(one, last)
                    apart = name in filling and not fills(one)
                    apart = apart or _of_data(one, evidence) or _of_check(one) or _twice(one)
                    apart = apart or (roomy and _scaled(one) and not exact)
                    told = id(one.node), one.text
                    if told in twice or senseless(one):
                        twice.add(told)
                        continue
                    apart = apart or _fitted_to_data(one, count) or reads_unbound(one)
                    if not apart and (not evidence.apart or _moves(one)):
                        more = went_well * (_STAYED if stays else _WENT_WELL) + _OTHER_KIND * changes_kind(one)
                        more += _ABOVE * ((one.place.source.file, one.place.span.line) in higher)
                        more += _ONE_APART * ((near and one.filler in _BY_ONE) or exact)
                        more += _AS_MUCH * (name in _OF_SIZES and _makes_up(one, apart_by))
                        yield replace(one, weight=one.weight + more) if more else one
            except (ArithmeticError, AttributeError, LookupError, SyntaxError, TypeError, ValueError):
                _log.debug("%s gave up", name, exc_info=True)
