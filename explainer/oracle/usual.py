"""What an edited call makes of the data that had gone well: an edit for one odd sample is to leave the others alone."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from typing import Any

from explainer.oracle.places import Places

#: So many results of an edited line are looked at.
_MOST = 64


class Usual:
    """Watches the `function` that made something unlike its usual results, at the edited lines.

    `first` are the shapes that it made first of the usual kind, all of one rank and none of them empty, or all empty.
    """

    def __init__(self, places: Places, known: Mapping[str, Any] | None):
        self.places = places
        self.function: str = known["function"] if known else ""
        self.first: list[list[int]] = known["first"] if known else []
        self.made: list[list[int]] = []

    def watch(self, torch: Any) -> None:
        """Put a watched function in the place of the one that is asked about."""
        for owner in (torch, torch.Tensor, torch.nn.functional):
            if self.first and callable(getattr(owner, self.function, None)):
                self.places.put(owner, self.function, self._noting(getattr(owner, self.function)))

    def _noting(self, plain: Any) -> Any:
        @functools.wraps(plain)
        def noted(*args: Any, **words: Any) -> Any:
            made = plain(*args, **words)
            if len(self.made) < _MOST and hasattr(made, "shape") and self.places.is_edited():
                self.made.append(list(made.shape))
            return made

        return noted

    def taken(self) -> list[int] | None:
        """How many of the first usual results are as they were, and of how many; None where none was made."""
        kept = [one for one in self.made if (len(one), 0 in one) == (len(self.first[0]), 0 in self.first[0])]
        if not self.made:
            return None
        return [sum(map(operator.eq, kept, self.first)), min(len(self.first), max(len(kept), 1))]
