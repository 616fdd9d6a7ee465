"""All that the atoms offer at all places of a crash, each edit once, the most likely first."""

from __future__ import annotations

import ast
import functools
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.changes import silences
from explainer.edits.evidence import Evidence
from explainer.edits.generators.slices import collated, ragged
from explainer.edits.place import Place
from explainer.frozen import frozen
from explainer.patterns import Pattern
from explainer.repair.agreement import idles
from explainer.repair.atoms import ATOMS
from explainer.repair.atoms.common import greatest, lengths
from explainer.repair.offer import Atom, Offer
from explainer.repair.prior import FILLING, atoms_for, cost
from explainer.repair.sense import senseless
from explainer.repair.siblings import again, renamed, terms, twins
from explainer.repair.spots import spots
from explainer.repair.worth import OF_NUMBERS, Shown

#: What each further offer of one kind at one node costs, each further one of any kind at its line, and at most.
_FURTHER, _BESIDE, _MOST = 0.06, 0.02, 0.8
#: What it is worth that the new text stands elsewhere in the file, and of how many characters it must be at least, or
#: to count twice.
_WRITTEN, _SHORT, _LONG = -0.4, 6, 14
#: What it costs to change what may be wrong wherever it is said.
_TWICE = 0.2
#: What may be wrong in several terms of one expression alike, which fail one after the other.
_OF_TERMS = ("layout", "slice", "unwrap", "keyword", "call", "dimension", "sizes", "index", "pattern")
#: What is said of a matrix whose values depend on how it was laid out: samples in its rows, or in its columns.
_OF_MATRIX = Pattern(r"positive.definite|singular|ill-conditioned|failed to converge")
#: What gives another length, or what it is the length of.
_OF_LENGTHS = ("measure", "derived")
_log = logging.getLogger(__name__)
#: Nodes, each with the names in it that stand for those of an offer.
_Rows = Sequence[tuple[ast.AST, Mapping[str, str]]]


@frozen
class Proposal:
    """A candidate with what speaks against it; `atom` is the kind of edit, empty for that of a generator.

    `past`: with it the crashed run gets past the call that failed.
    """

    candidate: Candidate
    cost: float
    atom: str = ""
    past: bool = False


def space(evidence: Evidence, most: int = 1200, family: str = "") -> list[Proposal]:
    """The proposals of all atoms that suit a family at all places, the most likely first."""
    offers: dict[Any, tuple[float, Offer]] = {}
    shown = Shown.by(evidence, _family(evidence, family))
    for offer in _offers(shown):
        node: Any = offer.node
        span = node.lineno, node.col_offset, node.end_lineno, node.end_col_offset
        key = (offer.place.source.file, *span, offer.text, len(offer.twins), offer.more)
        worth = cost(offer) + _elsewhere(offer)
        if key not in offers or worth < offers[key][0]:
            offers[key] = worth, offer
    return list(_proposals(_mixed(offers.values()), shown, most))


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
        kind, line = (id(offer.node), offer.atom), (offer.place.source.file, offer.place.line)
        found.append((worth + min(_FURTHER * met[kind] + _BESIDE * met[line], _MOST), offer))
        met[kind] += 1
        met[line] += 1
    return sorted(found, key=lambda one: one[0])


def _proposals(ranked: list[tuple[float, Offer]], shown: Shown, most: int) -> Iterator[Proposal]:
    seen: set[Any] = set()
    evidence = shown.evidence
    for worth, offer in ranked:
        candidate = offer.candidate(evidence)
        if candidate is None or candidate.edits in seen or silences(candidate):
            continue
        if not _repeats(offer) and not idles(candidate):
            seen.add(candidate.edits)
            counted = (
                shown.within and offer.filler == "one" and isinstance(getattr(offer.node, "op", None), ast.FloorDiv)
            )
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
        numbers, filler = one.atom in OF_NUMBERS, one.filler not in ("near", "factor")
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


def _offers(shown: Shown) -> Iterator[Offer]:
    evidence, atoms = shown.evidence, _atoms(shown.evidence, shown.family)
    alike: dict[tuple[int, bool], Sequence[_Rows]] = {}
    twice: set[tuple[int, str]] = set()  # what would say the same twice, as the nearest spot knows
    for spot in spots(evidence):
        for name, atom in atoms.items():
            if shown.leaves_out(spot, name):
                continue
            try:
                for one in _doubled(atom(spot, evidence), alike):
                    told = id(one.node), one.text
                    if shown.went_otherwise(one, name):
                        continue
                    if told in twice or senseless(one):
                        twice.add(told)
                    elif not shown.refuses(one, name):
                        more = shown.costs(one, name)
                        yield replace(one, weight=one.weight + more) if more else one
            except (ArithmeticError, AttributeError, LookupError, SyntaxError, TypeError, ValueError):
                _log.debug("%s gave up", name, exc_info=True)


def _family(evidence: Evidence, family: str) -> str:
    """The family whose atoms can mend a crash."""
    family = "dataloader" if collated(evidence) else family
    making = evidence.crash is not None and evidence.crash.function == "__init__"
    if family == "dataloader" and making and not evidence.loading:  # of a dataset, whose tensors have wrong sizes
        family = "shape"
    return "shape" if _OF_MATRIX.search(evidence.message) else family


def _atoms(evidence: Evidence, family: str) -> dict[str, Atom]:
    names = [*atoms_for(family, "shape" in evidence.message)]
    if family == "dataloader" and "out of" in evidence.message:  # an index of a sample: of another dataset's length
        names += _OF_LENGTHS
    names += FILLING if family == "dataloader" and ragged(evidence) else ()
    return {name: ATOMS[name] for name in dict.fromkeys(names)}
