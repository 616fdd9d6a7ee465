"""One proposed repair: edits to named lines, with the words for them."""

from __future__ import annotations

from dataclasses import field

from explainer.diagnosis import Edit, FixSource, Span
from explainer.frozen import frozen

#: The tier of repairs of two edits.
PAIRED = -2


@frozen
class Candidate:
    """`kind` is the kind of edit, `culprit` the place to blame if it holds, `fix` the rule's fix that offered it.

    `tier` orders candidates: one of a lower tier that holds is preferred to any of a higher one. `literal` marks edits
    of a number, which must leave the model's first input unchanged, `exact` those that put a number there which is just
    one more than the largest index. `meaning` says what speaks for it. `source` is what made it; it tells no two apart.
    """

    edits: tuple[Edit, ...]
    kind: str
    title: str
    culprit: Span
    fix: str | None = None
    meaning: str = ""
    tier: int = 0
    literal: bool = False
    exact: bool = False
    source: FixSource | None = field(default=None, compare=False)

    def __len__(self) -> int:
        """How many edits; a candidate without any would be no candidate."""
        return len(self.edits)
