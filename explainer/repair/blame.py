"""Which line is to blame, decided over all that survives: what rules, the search and the wide search have offered."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from explainer.diagnosis import Edit
from explainer.edits.candidate import PAIRED, Candidate
from explainer.edits.evidence import Evidence
from explainer.frozen import frozen, replace
from explainer.oracle.source import collates, of_layout, puts_in
from explainer.repair.agreement import sets_apart
from explainer.repair.features import Roles, adds_start, features, lost_parameters, roles
from explainer.repair.perturbed import computed_of, holds, outliving
from explainer.repair.prior import score
from explainer.repair.survivors import Survivor, alike, downstream
from explainer.replay.outcomes import ties
from explainer.replay.program import Run
from explainer.replay.trial import Verdict

#: The doubts about an edit that only keeps away from what failed: a rule may mean that, a search does not.
AVOIDS = {"unreached", "fewer"}
#: By how much (in its logarithm) an edit of another line must be likelier than what a rule puts first; than what a
#: generator does, of the surer tiers and of the others: trusting all as much made most wrong lines of 580 programs.
BETTER, SURER, FITTING = 3.0, 2.0, 1.0
SURE_TIER = 1
#: By how much a survivor may be less likely than the first and still outlive it, and how many such are looked at.
RIVAL, _RIVALS = 6.0, 3
#: What it is worth that an edit is right for other sizes, too, as the one that came first was not.
GENERAL = 2.0
#: How many repairs of two edits that begin with the same one count.
_SECONDS = 2
#: From which share of all that may be right (that none is, included) a line needs no wider search; keeps the proof that
#: a rule or generator has of it; is proved by what the atoms offer.
LIKELY, KEPT, SURE = 0.8, 0.8, 0.9
#: Below which share a line is one of several that are possible; below which none is named, and two edits together are
#: tried: of such lines a half was right, in programs that nobody had looked at before.
UNSURE, UNLIKELY = 0.65, 0.5


@frozen
class Blame:
    """All survivors, the likeliest first, and what share of all that may be right is on its line.

    `counted` is that share by what is counted alone, whoever offered the first: by that a line is proved.
    `odd`: something tells against the first. `fits`: so it does, or there is no more to it than that it fits where it
    failed: where the value came from may be wrong. `told`: it fits for other values of the numbers that it reads, too.
    """

    survivors: tuple[Survivor, ...]
    share: float = 0.0
    counted: float = 0.0
    odd: bool = False
    fits: bool = False
    told: bool = False

    @property
    def alone(self) -> bool:
        """Whether all that survived without a doubt stands in one line."""
        return len({one.line for one in self.survivors if not one.judgement.doubts}) == 1

    @property
    def first(self) -> Survivor | None:
        """The survivor that takes the blame."""
        return self.survivors[0] if self.survivors else None

    def verdicts(self, checker: Any) -> list[Verdict]:
        """The survivors as verdicts: the first, the likeliest of another line, the rest in their order.

        What leaves a name that is read nowhere any more is no choice beside one that does not.
        """
        control, first = checker.control(), self.first
        apart = (one for one in self.survivors if first is not None and one.line != first.line)
        second = next((one for one in apart if one.score > 0 and not one.judgement.doubts), None)
        kept = (one for one in self.survivors if not one.forgets or (first is not None and first.forgets))
        rows = sorted(kept, key=lambda one: (one is not first, one is not second))
        return [checker.passed(one.candidate, one.run, control, one.judgement) for one in rows]


def blamed(checker: Any, evidence: Evidence, known: tuple[Edit, ...] = ()) -> Blame:
    """Who is to blame among all that has survived so far; `known` are the edits that a rule puts first."""
    control, where = checker.control(), checker.scene.once("roles of lines", lambda: roles(evidence))
    found = []
    for edits, (candidate, judgement) in checker.survived.items() if control is not None else ():
        if AVOIDS & set(judgement.doubts) and edits != known:
            continue
        run = checker.tried[edits]
        if adds_start(candidate):  # of any other number nothing says why it is that one
            judgement = replace(judgement, doubts=tuple(one for one in judgement.doubts if one != "number"))
        counted = features(candidate, run, control, judgement, evidence, where)
        worth = score(counted) + GENERAL * (edits in _general(checker))
        found.append(Survivor(candidate, run, judgement, worth, lost_parameters(run, control), counted))
    found = [one for one in found if not any(set(other.candidate.edits) < set(one.candidate.edits) for other in found)]
    own = next((one for one in found if one.candidate.edits == known), None)
    first = own if own is not None and "widens" not in own.counted else _generated(found, control)
    behind = {one.candidate.edits for one in found if downstream(one, found, where, evidence)}
    if first is not None and not _strange(first, evidence) and first.candidate.edits not in behind:
        worth = BETTER if first is own else SURER if first.candidate.tier <= SURE_TIER else FITTING
        found[found.index(first)] = first = replace(first, score=first.score + worth)
    found.sort(key=lambda one: (_last(one), one.candidate.edits in behind, -one.score))
    if first is not None and (
        _comes_first(first, own, found[0], evidence) or (own is not None and _unlikely(found[0], own))
    ):
        found = [first, *(one for one in found if one is not first)]
    first = found[0] if found else None
    if first is not None and _outlived(checker, evidence, found):
        return _doubting(first, checker, evidence, known)
    if first is None or first.candidate.edits == known:
        odd = first is not None and first.odd
        return replace(_shared(found, evidence, where), odd=odd, fits=odd or (first is not None and first.lost > 0))
    told = _told(checker, evidence, first.candidate)
    if told is False and not first.judgement.doubts:
        return _doubting(first, checker, evidence, known)
    chance = told is False or (told is None and bool(computed_of(first.candidate)))
    fits = first.odd or chance or first.lost > 0 or _fits(first, where)
    return replace(_shared(found, evidence, where), odd=first.odd, fits=fits, told=told is True)


def _doubting(one: Survivor, checker: Any, evidence: Evidence, known: tuple[Edit, ...]) -> Blame:
    """Who is to blame where a survivor fits by chance."""
    checker.survived[one.candidate.edits] = one.candidate, replace(one.judgement, doubts=("chance",))
    return blamed(checker, evidence, known)


def _outlived(checker: Any, evidence: Evidence, found: list[Survivor]) -> bool:
    """Whether the first survivor is right for the sizes at hand alone, and one of another line is for others, too."""
    first, rivals = found[0].candidate, _rivals(found)
    if found[0].judgement.doubts or not rivals:
        return False
    key = ("outliving", first.edits, *(one.edits for one in rivals))
    known: list[Candidate] = checker.scene.once(key, lambda: outliving(checker, evidence, first, rivals))
    _general(checker).update(one.edits for one in known)
    return bool(known)


def _general(checker: Any) -> set[tuple[Edit, ...]]:
    """The edits that were seen to be right for other sizes, too, as another one was not."""
    known: set[tuple[Edit, ...]] = checker.scene.once("right for other sizes", set)
    return known


def _rivals(found: list[Survivor]) -> list[Candidate]:
    """The likeliest survivors of the likeliest other lines that have no doubt, and do not fit whatever comes."""
    lines: dict[Any, Survivor] = {}
    for one in found:
        edits = one.candidate.edits
        fits_anything = one.forgets or one.counted.get("adapts") or collates(edits) or puts_in(edits)
        if not one.judgement.doubts and not fits_anything and one.score > found[0].score - RIVAL:
            lines.setdefault(one.line, one)
    return [one.candidate for line, one in lines.items() if line != found[0].line][:_RIVALS]


def _comes_first(first: Survivor, own: Survivor | None, best: Survivor, evidence: Evidence) -> bool:
    """Whether what a rule or generator offers first comes before what is likelier in its line.

    Which of several edits of one line is right is known best to what knows the call.
    """
    if first.line != best.line or first.counted.get("misplaced"):
        return False
    near = _last(first) == _last(best) and best.score <= first.score + BETTER
    return first is own or (own is None and near and not _strange(first, evidence))


def _unlikely(one: Survivor, own: Survivor) -> bool:
    """Whether a survivor is less likely than that none is right, and what a rule offers is likelier than that."""
    return one.score < 0 < own.score and not own.judgement.doubts


def _strange(one: Survivor, evidence: Evidence) -> bool:
    """Whether what is offered first has a sign against it."""
    told = {"recomputed", "offset", "later"} & one.counted.keys()
    return one.forgets or one.drops or bool(told) or sets_apart(one.candidate, evidence)


def _told(checker: Any, evidence: Evidence, candidate: Candidate) -> bool | None:
    """Whether an edit reads no number that it did not, or fits where one that it reads is another, too."""
    told: bool | None = checker.scene.once(("holds", candidate.edits), lambda: holds(checker, evidence, candidate))
    return told


def _fits(one: Survivor, where: Roles) -> bool:
    """Whether an edit comes last, turns a tensor around where it failed, or takes samples of whatever sizes.

    So does what changes a size that was wrong before.
    """
    edits = one.candidate.edits
    turned = where.stack.get(one.line) == 0 and of_layout(edits) and not puts_in(edits)
    doubts = set(one.judgement.doubts) - {"chance"}  # another alignment is as far from the origin
    return bool(doubts) or one.drops or turned or where.sizes.comes_later(one.line) or collates(edits)


def _generated(found: list[Survivor], control: Run | None) -> Survivor | None:
    """What the surest generator offered of what comes first at all, of its offers the smallest change."""
    best = min(map(_last, found), default=0)
    offered = [one for one in found if one.candidate.tier != PAIRED and one.kind == "generator"
               and _last(one) == best and not {"reshaped=two", "widens"} & one.counted.keys()]  # fmt: skip
    if control is None or not offered:
        return None
    rank = lambda one: (bool(one.judgement.doubts), one.candidate.tier, *ties(one.candidate, one.run, control))  # noqa: E731
    return min(offered, key=rank)


def _last(one: Survivor) -> int:
    """What comes behind all others: an index made to fit that other data had not made too large, samples left out.

    Then what is in doubt, numbers that the program uses for something else, and layers of another size where the same
    call went well with the size that they have.
    """
    behind = one.smaller and one.counted.get("went-well")
    doubted = one.judgement.doubts or one.counted.get("reshaped=passed") or one.counted.get("misplaced")
    return 2 if doubted else int(bool(behind) or one.drops)


def _shared(found: list[Survivor], evidence: Evidence, where: Roles) -> Blame:
    """Survivors with the share of the first one's line; that no edit at all is right has a score of 0."""
    if not found:
        return Blame(())
    least, rows = _last(found[0]), _few_of_each_pair(found)
    behind = [BETTER * (_last(one) > least) for one in rows]
    scores = ([one.score for one in rows], [score(one.counted) for one in rows])
    same = [alike(one, found[0], where, evidence) for one in rows]
    share, counted = (_share(same, row, behind) for row in scores)
    return Blame(tuple(found), share, counted)


def _few_of_each_pair(found: list[Survivor]) -> list[Survivor]:
    """Survivors, of repairs of two edits with the same first one the two likeliest alone: more seconds say no more."""
    met: Counter[Any] = Counter()
    kept = []
    for one in found:
        first = one.candidate.edits[0] if one.candidate.tier == PAIRED else None
        met[first] += 1
        kept += [one] if first is None or met[first] <= _SECONDS else []
    return kept


def _share(same: list[bool], scores: list[float], behind: list[float]) -> float:
    worth = [math.exp(min(one - less, 50.0)) for one, less in zip(scores, behind, strict=True)]
    return sum(each for each, own in zip(worth, same, strict=True) if own) / (sum(worth) + 1.0)
