"""Which line is to blame, decided over all survivors of the wide search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from explainer.edits.evidence import Evidence
from explainer.frozen import frozen
from explainer.repair.wide import OPEN, Found, Survivor, widely
from explainer.replay.trial import Verdict

#: How near another place must come to leave it open which is to blame, and from which cost on one alone shows nothing.
NEAR, PLAUSIBLE = 0.6, 2.0
#: What an atom offers and has this cost is no repair, whatever runs with it.
NEVER = 3.2


@frozen
class Blame:
    """All survivors, the one to show first; `alone`: no other line comes near it."""

    survivors: tuple[Survivor, ...]
    alone: bool

    def verdicts(self, checker: Any) -> list[Verdict]:
        """The survivors as verdicts, in their order."""
        control = checker.control()
        return [checker.passed(one.candidate, one.run, control, one.judgement) for one in self.survivors]

    @property
    def first(self) -> Survivor | None:
        """The survivor that takes the blame."""
        return self.survivors[0] if self.survivors else None


def blamed(checker: Any, evidence: Evidence, progress: Callable[[str], None]) -> Blame:
    """Who is to blame among what the wide search finds."""
    checker.extend()
    return _decided(widely(checker, evidence, progress))


def _decided(found: Found) -> Blame:
    """The least costly first; what bends the model to a fault is left out."""
    ranked = sorted((one for one in found.survivors if one.cost < NEVER and not one.bends), key=lambda one: one.cost)
    if not ranked:
        return Blame((), False)
    first = ranked[0]
    near = {one.line for one in ranked if one.cost < first.cost + NEAR}
    near |= {line for line, cost in found.rivals if cost < first.cost + OPEN}
    return Blame(tuple(ranked), near <= {first.line} and first.cost < PLAUSIBLE)
