"""What speaks for and against an edit that an atom offers, as what the crash shows has it."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Collection

from explainer.edits.evidence import Evidence, Step
from explainer.edits.generators.slices import parting, ragged
from explainer.edits.place import Place
from explainer.frozen import frozen
from explainer.repair.atoms.common import greatest, integer, statement_of
from explainer.repair.atoms.draws import chosen, end_of
from explainer.repair.atoms.lengths import fills
from explainer.repair.meeting import above
from explainer.repair.odd import counted
from explainer.repair.offer import Offer
from explainer.repair.prior import FILLING
from explainer.repair.sense import changes_kind, reads_unbound
from explainer.repair.spots import Spot
from explainer.source import called, walked

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
#: What changes a size.
_OF_SIZES = ("size", "literal", "operator")
#: What can change where a tensor lies: kinds of edits, and words that others bring or take away.
_MOVING = ("copied", "block", "value", "name", "uncalled", "placed")
_DEVICES = {"to", "cpu", "cuda", "device", "meta", "assign", "persistent", "register_buffer", "to_empty"}
#: What takes a step away: no repair of samples that it gave different sizes, as it is meant to.
_UNDOING = ("slice", "unwrap", "statement", "call", "drop")
#: What says a number, in one way or another.
OF_NUMBERS = ("size", "literal", "measure", "name")


@frozen
class Shown:
    """What a crash shows that tells of offers.

    `within`: sizes within those that meet are one apart, `near`: or these are; `apart_by`: by how much they differ
    else; `roomy`: any smaller index would fit; `last`: the largest index; `higher`: lines behind both sides; `parted`:
    the step that made samples differ; `count`: a number that was read from data; `filling`: kinds of edits that may
    change by how much samples are filled up.
    """

    evidence: Evidence
    family: str
    within: bool
    near: bool
    apart_by: Collection[int]
    roomy: bool
    last: int | None
    higher: Collection[tuple[str, int]]
    parted: Step | None
    count: Place | None
    filling: Collection[str]

    @classmethod
    def by(cls, evidence: Evidence, family: str) -> Shown:
        """What the evidence of a crash shows."""
        pairs = list(itertools.pairwise(evidence.said))
        sizes, within = [one for one in evidence.said if one > 1], _one_apart_within(evidence)
        return cls(
            evidence,
            family,
            within,
            within or any(abs(one - other) == 1 and min(one, other) > 3 for one, other in pairs),
            {abs(one - other) for one, other in itertools.pairwise(sizes)} - {0, 1},
            family == "index" or (evidence.crash is not None and evidence.crash.function == "__setitem__"),
            greatest(evidence),
            above(evidence),
            parting(evidence),
            counted(evidence),
            FILLING if family == "dataloader" and ragged(evidence) else (),
        )

    def leaves_out(self, spot: Spot, name: str) -> bool:
        """Whether nothing of a kind is to be tried at a place."""
        undoes = self.parted is not None and self.parted.place is not None and _stands_at(spot, self.parted.place)
        swaps = self.family == "dataloader" and name == "swap" and spot.role != "made"
        return swaps or (undoes and name in _UNDOING) or (spot.role == "after" and name != "order")

    def went_otherwise(self, one: Offer, name: str) -> bool:
        """Whether the failing call, which went well with other data, would get a number that does not follow them."""
        return self._stays(one, name) and name in OF_NUMBERS and one.filler != "measured"

    def refuses(self, one: Offer, name: str) -> bool:
        """Whether an edit would change what is no fault: data, what is asserted, or one part that is taken twice."""
        apart = name in self.filling and not fills(one)
        apart = apart or _of_data(one, self.evidence) or _of_check(one) or _twice(one)
        apart = apart or (self.roomy and _scaled(one) and not _exact(one, self.last))
        apart = apart or _fitted_to_data(one, self.count) or reads_unbound(one)
        return apart or (self.evidence.apart and not _moves(one))

    def costs(self, one: Offer, name: str) -> float:
        """What speaks against an edit that an atom of a name offers, or for it, beside its kind and place."""
        went_well = self.evidence.passed and name in _OF_CALL
        by_one = (self.near and one.filler in _BY_ONE) or _exact(one, self.last)
        more = went_well * (_STAYED if self._stays(one, name) else _WENT_WELL) + _OTHER_KIND * changes_kind(one)
        more += _ABOVE * ((one.place.source.file, one.place.line) in self.higher) + _ONE_APART * by_one
        return more + _AS_MUCH * (name in _OF_SIZES and _makes_up(one, self.apart_by))

    def _stays(self, one: Offer, name: str) -> bool:
        return self.evidence.passed and name in _OF_CALL and one.spot.role == "crash"


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
    return numbers and count is not None and any(one is offer.node for one in walked(count.node))


def _stands_at(spot: Spot, place: Place) -> bool:
    return spot.place.source.file == place.source.file and spot.place.line == place.line


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
