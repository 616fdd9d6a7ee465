"""Which line is to blame, decided over all survivors: those of rules, of the search and of the wide search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.changes import only_adapts
from explainer.edits.evidence import Evidence
from explainer.frozen import frozen
from explainer.repair.wide import OPEN, Found, Survivor, weighed, widely
from explainer.replay.programs import FOLLOWED
from explainer.replay.trial import Verdict

#: How much better another place must be to take the blame, how near one must come to leave it open, and from which
#: cost on nothing is shown by it alone.
BETTER, NEAR, PLAUSIBLE = 1.2, 0.6, 2.0
#: What an atom offers and has this cost is no repair, whatever runs with it.
NEVER = 3.2
#: What speaks against a survivor of a rule, and of each tier of the search.
_RULE, _TIER, _EACH, _TWO, _LITERAL, _ADAPTS = 0.7, 0.9, 0.25, 2.4, 0.5, 0.9


@frozen
class Blame:
    """All survivors, the one to show first; `alone`: no other line comes near it.

    `wide`: everything that was worth a run had one.
    """

    survivors: tuple[Survivor, ...]
    alone: bool
    wide: bool

    def verdicts(self, checker: Any) -> list[Verdict]:
        """The survivors as verdicts, in their order."""
        control = checker.control()
        return [checker.passed(one.candidate, one.run, control, one.judgement) for one in self.survivors]

    @property
    def first(self) -> Survivor | None:
        """The survivor that takes the blame."""
        return self.survivors[0] if self.survivors else None


def known_cost(candidate: Candidate) -> float:
    """What speaks against what a rule or the search offers."""
    if candidate.fix is not None:
        cost = _RULE
    else:
        cost = _TWO if candidate.tier == FOLLOWED else _TIER + _EACH * (candidate.tier + 1)
    return cost + _LITERAL * candidate.literal + _ADAPTS * only_adapts(candidate)


def blamed(
    checker: Any,
    evidence: Evidence,
    passed: Sequence[Verdict],
    progress: Callable[[str], None],
) -> Blame:
    """Who is to blame among what had passed already and what the wide search finds."""
    control = checker.control()
    runs = [(one, checker.tried.get(one.candidate.edits)) for one in passed if control is not None]
    known = [
        weighed(one.candidate, run, one.judgement, control, evidence, known_cost(one.candidate))
        for one, run in runs
        if run is not None
    ]
    checker.extend()
    found = widely(checker, evidence, known, progress)
    return _decided(known, found)


def _decided(known: Sequence[Survivor], found: Found) -> Blame:
    """What is known stays first unless another place is clearly better; what bends the model to a fault is left out."""
    known = [one for one in known if not one.bends]
    edits = {one.candidate.edits for one in known}
    others = sorted(
        (one for one in found.survivors if one.candidate.edits not in edits and one.cost < NEVER and not one.bends),
        key=lambda one: one.cost,
    )
    own = min((one.cost for one in known), default=None)
    better = [one for one in others if own is None or one.cost + BETTER < own]
    ranked = [*better, *known, *(one for one in others if one not in better)]
    if not ranked:
        return Blame((), False, found.wide)
    first = ranked[0]
    near = {one.line for one in ranked if one.cost < first.cost + NEAR}
    near |= {line for line, cost in found.rivals if cost < first.cost + OPEN}
    return Blame(tuple(ranked), near <= {first.line} and first.cost < PLAUSIBLE, found.wide)
