"""Which line is to blame, decided over all survivors: those of rules and of the search, and those of the wide search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.changes import only_adapts
from explainer.edits.evidence import Evidence
from explainer.frozen import frozen
from explainer.repair.space import Proposal
from explainer.repair.wide import Survivor, weighed, widely
from explainer.replay.programs import FOLLOWED

#: How much better another place must be to take the blame, and how near it must come to leave it open.
BETTER, NEAR = 0.5, 0.6
#: What speaks against a survivor of a rule, and of each tier of the search.
_RULE, _TIER, _EACH, _TWO, _LITERAL, _ADAPTS = 0.7, 0.9, 0.25, 2.4, 0.5, 0.9


@frozen
class Blame:
    """All survivors, the one to show first, then the others by what speaks against them.

    `alone`: no other line comes near the first. `wide`: everything that was worth a run had one.
    """

    survivors: tuple[Survivor, ...]
    alone: bool
    wide: bool

    @property
    def first(self) -> Survivor | None:
        """The survivor that takes the blame."""
        return self.survivors[0] if self.survivors else None


def known_cost(candidate: Candidate) -> float:
    """What speaks against a survivor that a rule or the search had offered."""
    if candidate.fix is not None:
        cost = _RULE
    else:
        cost = _TWO if candidate.tier == FOLLOWED else _TIER + _EACH * (candidate.tier + 1)
    return cost + _LITERAL * candidate.literal + _ADAPTS * only_adapts(candidate)


def blamed(
    checker: Any,
    evidence: Evidence,
    passed: Sequence[Candidate],
    more: Iterable[Candidate],
    progress: Callable[[str], None],
) -> Blame:
    """Who is to blame among what had passed already and what the wide search finds."""
    control = checker.control()
    runs = [(one, checker.tried.get(one.edits)) for one in passed]
    known = [weighed(one, run, control, evidence, known_cost(one)) for one, run in runs if run is not None and control is not None]
    rest = (Proposal(one, known_cost(one)) for one in more)
    found, wide = widely(checker, evidence, known, rest, progress)
    import os  # TRACE
    if os.environ.get("EXPLAIN_TRACE"):
        import json
        with open(os.environ["EXPLAIN_TRACE"], "a") as f:
            for kind, rows in (("known", known), ("wide", found)):
                for one in rows:
                    f.write(json.dumps([kind, one.atom or one.candidate.kind, round(one.cost, 2), one.candidate.tier, one.reshaped, one.candidate.culprit.line, one.candidate.title[:90], bool(one.candidate.fix)]) + "\n")
            f.write(json.dumps(["end", wide, len(checker.tried)]) + "\n")
    edits = {one.candidate.edits for one in known}
    others = sorted((one for one in found if one.candidate.edits not in edits), key=lambda one: one.cost)
    return _decided(known, others, wide)


def _decided(known: Sequence[Survivor], others: Sequence[Survivor], wide: bool) -> Blame:
    """What is known stays first, unless another place is clearly better."""
    first = known[0] if known else None
    better = [one for one in others if first is None or one.cost + BETTER < first.cost]
    ranked = [*better, *known, *(one for one in others if one not in better)]
    if not ranked:
        return Blame((), False, wide)
    near = [one for one in ranked if one.cost < ranked[0].cost + NEAR]
    return Blame(tuple(ranked), len({one.line for one in near}) == 1, wide)
