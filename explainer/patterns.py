"""Regular expressions that are compiled when they are first used: of a few hundred, one diagnosis needs some twenty."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:

    def Pattern(text: str, flags: int = 0) -> re.Pattern[str]:
        """A pattern as `re.compile` makes it."""
else:

    class Pattern:
        """A pattern as `re.compile` makes it, when one of its methods is first asked for."""

        def __init__(self, text: str, flags: int = 0):
            self._given = text, flags

        def __getattr__(self, name: str) -> Any:
            value = getattr(re.compile(*self._given), name)
            setattr(self, name, value)  # found at once from now on
            return value
