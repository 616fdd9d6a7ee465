"""How likely an edit is the repair: before it is run, what it costs; once it survives, its score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from explainer.repair.offer import Offer
from explainer.repair.weights import WEIGHTS

#: What each kind of edit costs, each role of its place, and each step that it lies behind the crash.
ATOM: Mapping[str, float] = {
    "pattern": 0.0,
    "projection": 0.2,
    "widening": 0.4,
    "dimension": 0.0,
    "swap": 0.4,
    "slice": 0.5,
    "recut": 0.1,
    "seam": 0.1,
    "kept": 0.1,
    "sizes": 0.5,
    "layout": 1.4,
    "usual": 0.1,
    "unwrap": 0.2,
    "size": 1.0,
    "measure": 0.6,
    "field": 0.8,
    "row": 0.1,
    "marked": 0.1,
    "repeated": 0.2,
    "key": 0.7,
    "keyword": 1.2,
    "handed": 0.2,
    "meant": 0.2,
    "namesake": 1.2,
    "times": 0.1,
    "sibling": 0.3,
    "derived": 0.7,
    "whole": 0.6,
    "registered": 0.2,
    "severed": 0.3,
    "uncut": 0.1,
    "recorded": 0.1,
    "unrecorded": 0.1,
    "index": 0.8,
    "state": 0.1,
    "unflattened": 0.1,
    "paired": 0.1,
    "expanded": 0.1,
    "dropped": 0.0,
    "level": 0.9,
    "reversed": 0.5,
    "element": 0.9,
    "call": 0.7,
    "name": 1.6,
    "value": 0.8,
    "operator": 0.7,
    "sides": 0.1,
    "division": 0.2,
    "condition": 0.3,
    "filled": 0.1,
    "guard": 0.1,
    "literal": 1.4,
    "solved": 0.3,
    "drop": 1.3,
    "statement": 2.2,
    "unreturned": 0.2,
    "likewise": 0.2,
    "alongside": 0.1,
    "rebound": 0.3,
    "branched": 0.2,
    "mapped": 0.1,
    "encoded": 0.1,
    "order": 1.2,
    "adjusted": 0.2,
    "detach": 0.4,
    "clone": 0.7,
    "cut": 2.4,
    "crop": 0.6,
    "indexed": 0.1,
    "leading": 0.2,
    "wrapped": 0.1,
    "windowed": 0.1,
    "window": 0.3,
    "padded": 0.1,
    "overlapping": 0.1,
    "multiple": 0.1,
    "shortened": 0.1,
    "extended": 0.1,
    "earlier": 0.2,
    "tail": 0.1,
    "bound": 0.9,
    "drawn": 0.2,
    "uncalled": -0.3,
    "parameter": 0.1,
    "prepared": 0.2,
    "stepped": 0.2,
    "unpacked": 0.2,
    "other_element": 0.2,
    "every_pair": 0.1,
    "reduction": 2.4,
    "folded": 0.6,
    "copied": 0.3,
    "shared": 0.4,
    "block": 0.6,
    "counted": 0.0,
    "moved": 0.3,
    "placed": 0.2,
    "again": 0.1,
    "subset": 0.4,
    "filtered": 0.6,
    "nonempty": 0.1,
    "relabelled": 0.1,
    "trimmed": 0.3,
    "lengthened": 0.1,
    "facing": 0.1,
    "resampled": 0.1,
    "before_next": 0.1,
    "started": 0.1,
    "widened": 0.3,
}
ROLE: Mapping[str, float] = {
    "crash": 0.0,
    "slice": 0.2,
    "returned": 0.5,
    "bound": 0.8,
    "caller": 0.6,
    "built": 0.4,
    "given": 1.3,
    "made": 0.5,
    "after": 0.4,
    "before": 0.9,
    "setting": 0.9,
    "number": 0.7,
}
#: What can mend a graph, which does not depend on sizes; what can mend a dtype, which does not either.
GRAPHS = ("order", "detach", "clone", "statement", "drop", "value", "call", "key", "name", "keyword", "namesake",
          "sibling", "derived", "uncalled", "severed", "recorded", "unrecorded", "likewise", "rebound", "branched",
          "parameter", "adjusted", "unreturned", "copied", "dropped", "condition", "uncut")  # fmt: skip
DTYPES = ("value", "keyword", "namesake", "swap", "unwrap", "drop", "key", "name", "call", "index", "element",
          "statement", "order", "sibling", "derived", "uncalled", "copied", "operator", "parameter", "adjusted",
          "likewise", "rebound", "branched", "unreturned", "prepared", "dropped")  # fmt: skip
#: What can keep values finite; sizes and layouts have no part in that.
VALUES = ("operator", "call", "keyword", "namesake", "value", "literal", "dimension", "unwrap", "drop",
          "order", "derived", "name", "statement", "bound", "sibling", "measure", "paired", "dropped",
          "likewise", "rebound", "branched", "adjusted", "parameter", "prepared", "uncalled", "swap",
          "key", "index", "level", "condition")  # fmt: skip
#: What can build the model that was saved, or load what was meant; what is computed has no part in that.
LOADING = ("key", "order", "keyword", "namesake", "sibling", "derived", "parameter", "size", "literal",
           "uncalled", "filtered", "adjusted", "likewise", "rebound", "swap", "name", "call", "statement", "value",
           "copied", "prepared")  # fmt: skip
#: What can make samples alike; other or fewer data would, too, and repair nothing.
SAMPLES = (
    "counted",
    "subset",
    "filtered",
    "nonempty",
    "shared",
    "trimmed",
    "lengthened",
    "facing",
    "recut",
    "marked",
    "widened",
    "started",
    "swap",
    "key",
    "order",
    "sibling",
    "uncalled",
    "branched",
)
#: What can mend by how much a sample is filled up, beside that.
FILLING = ("facing", "literal", "operator", "name", "measure", "size", "dimension")
#: What can mend a size that is absurd: any smaller one would run, so only what the program has made ready and left out.
SIZED = ("prepared", "parameter")
_OF_FAMILY = {"autograd": GRAPHS, "inplace": GRAPHS, "dtype": DTYPES, "amp": (*DTYPES, "level"), "unsupported": DTYPES,
              "checkpoint": LOADING, "dataloader": SAMPLES, "oom": SIZED, "nan": VALUES}  # fmt: skip
#: What mends graphs alone; what mends only where tensors lie, or an index too large: elsewhere data would be lost.
_ALONE = ("detach", "clone", "severed", "uncut", "recorded", "unrecorded")
#: A layer that nothing calls is no sign where memory lies in another order: each makes a new tensor, and so runs.
_NO_SIGN = {"view": ("uncalled",)}
_ONLY = {
    "registered": "device",
    "moved": "device",
    "placed": "device",
    "again": "device",
    "crop": "index",
    "unflattened": "index",
}
_STEP = 0.12
_FAR = 1.2
#: What a doubt costs whose weight is not known; what those kinds of edits do whose signs seldom come by chance.
_DOUBTED, _OWN_SIGN = 1.5, -3.0
#: No program drops a result on purpose, and few make a layer that nothing calls; the greatest length is a whole number
#: of times the size that it exceeds; one sample was empty, and no other; what was joined is cut where its parts meet;
#: no program cuts where nothing is cut off; the last part of an LSTM's state is its cells, which no head is to see;
#: what is cut to the size of the longest samples is meant to have that size.
_SURE = {"dropped": 3.0, "uncalled": 2.5, "shortened": 1.5, "nonempty": 1.5, "seam": 2.0, "recut": 1.5,
         "state": 1.5, "times": 2.0, "lengthened": 2.0}  # fmt: skip
#: What a kind of edit costs on the whole, and how much more (or less) of that counts where the weight is not known.
_USUAL, _UNFITTED = 0.6, 2.0
#: Layers of another size, with whose size the same call went well before, or whose size is computed of several names,
#: or given by who makes the object that hands on what it is given;
#: what is named as its parameter gives way; a number that the program uses for something else; a length that had
#: depended on which classes were met; other dimensions than those along which other data were read well; two edits;
#: samples left out. What runs where tensors lay on several devices is seldom wrong: few edits move anything. What a
#: function is given, and reads nowhere, is missing somewhere. What reads both directions of a layer is twice as wide;
#: of several values one is taken; one list, or two together, has just the rows that are needed, or one more does; a
#: difference that is worked out is seldom right with a factor by chance; nor does a size fit by chance that halves from
#: stage to stage, or a length with the start of the numbering added to it; nor are all samples of one size by chance
#: where another amount is filled up. What changes all that meets alike brings none of it together.
#: The other end of a layer is a size of just another kind. What is added to a length, as in `n - kernel + 1`, is one.
#: Of two settings that differ one seldom is to be the other.
#: What an object keeps of what it is given, and not as it is, is what the rest of it is made for.
#: What computes a size that a tensor had computes it rightly; the first that does not is to blame. Statements that are
#: alike but for names seldom come to say the same by chance.
_BY_HAND = {"departs": -2.0, "later": 1.0, "met": 1.5, "as-sibling": -1.0, "offset": 2.5, "kept-otherwise": -3.0,
            "fills": -4.5, "above": 2.5, "other-end": -2.5, "reshaped=passed": 4.0, "recomputed": 3.0, "widens": 3.0,
            "named-so": 5.0, "misplaced": 7.0, "counts-all": -3.0, "reads-otherwise": 2.5, "known=two": 3.0,
            "drops-samples": 1.0, "apart": -1.5, "reads-unread": -2.0, "both-directions": -2.0, "takes-part": -1.5,
            "multiplied": -1.0, "counts-both": -1.5, "one-more": -1.5, "exact": -1.0, "staged": -2.5, "numbered": -2.5,
            "turned-input": 3.0, "levels": 3.0}  # fmt: skip
_SIGNED = ("usual", "mapped", "wrapped", "windowed", "unreturned", "likewise", "shortened", "paired", "expanded",
           "extended", "tail", "earlier", "alongside", "uncut",
           "dropped", "indexed", "sides", "nonempty", "relabelled", "uncalled", "namesake", "repeated",
           "marked", "stepped", "recut", "seam", "padded", "state", "guard", "kept", "encoded",
           "overlapping", "multiple", "drawn", "filled", "times", "lengthened",
           "facing", "resampled", "before_next", "other_element", "every_pair", "prepared")  # fmt: skip


def atoms_for(family: str, sized: bool = False) -> Sequence[str]:
    """The kinds of edits that can repair a crash of a family; `sized`: of a graph, whose message is about a shape."""
    if family in _OF_FAMILY and not (sized and _OF_FAMILY[family] is GRAPHS):
        return _OF_FAMILY[family]
    left_out = (*_ALONE, *_NO_SIGN.get(family, ()))
    return [name for name in ATOM if name not in left_out and _ONLY.get(name, family) == family]


def cost(offer: Offer) -> float:
    """What speaks against an offer: its kind, its place, its filler; what has a sign of its own may lie far behind."""
    far = 0.0 if has_sign(offer.atom) else min(_STEP * offer.spot.distance, _FAR)
    return ATOM[offer.atom] + ROLE[offer.spot.role] + far + offer.weight


def score(features: Mapping[str, float]) -> float:
    """The logarithm of how likely a survivor is, beside 0 for no right edit among all survivors."""
    return -sum(value * WEIGHTS.get(name, unfitted(name)) for name, value in features.items())


def has_sign(atom: str) -> bool:
    """Whether a kind of edit is offered only where something says that it is missing."""
    return atom in _SIGNED


def by_hand(name: str) -> bool:
    """Whether a feature's weight is not fitted: too few programs have what it tells, and much depends on it."""
    return name in _BY_HAND or name.startswith("doubt=") or name.removeprefix("atom=") in _SIGNED


def unfitted(name: str) -> float:
    """What a feature costs that no program had which weights were fitted on: a doubt something, else nothing.

    What is offered only where it has a sign of its own is worth as much as what is known best; another kind of edit
    as much as it costs before it is run.
    """
    atom = name.removeprefix("atom=")
    if atom in _SIGNED:
        return _OWN_SIGN * _SURE.get(atom, 1.0)
    if name.startswith("atom="):
        return _UNFITTED * (ATOM.get(atom, _USUAL) - _USUAL)
    if name in _BY_HAND:
        return _BY_HAND[name]
    return _DOUBTED if name.startswith("doubt=") else 0.0
