"""Structural edits: what a rule or the search proposes, as changed source lines. Nothing here runs anything."""

from __future__ import annotations

from explainer.edits.candidate import Candidate
from explainer.edits.lines import EditError, applied, changed

__all__ = ["Candidate", "EditError", "applied", "changed"]
