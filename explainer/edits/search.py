"""Generic candidates for a family, from a recording of the program: see `search`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from explainer.edits.candidate import Candidate


def search(scene: Any, family: str, limit: int = 400) -> Iterator[Candidate]:
    """Candidates of the generic generators for a family, best first."""
    return iter(())
