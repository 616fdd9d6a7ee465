"""Edits that are worth a trial where training learns nothing and no structural fact says why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from explainer.training.finding import Finding


def proposals(watcher: Any) -> Iterator[Finding]:
    """Findings to be confirmed by a trial, most likely first."""
    return iter(())
