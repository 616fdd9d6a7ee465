"""Structural edits: what a rule or the search proposes, as changed source lines. Nothing here runs anything."""

from __future__ import annotations

from explainer.edits.candidate import Candidate
from explainer.edits.lines import EditError, applied, changed

__all__ = ["Candidate", "EditError", "applied", "changed", "search"]


def search(scene, family, limit=400):
    """Candidates of the generic generators for a family, best first: see `edits.generators.driver`."""
    from explainer.edits.generators.driver import search as generate

    return generate(scene, family, limit)
