"""Finds the exceptions in the lines of one writer: each format is asked in turn, the first that can read wins."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from explainer.reading.block import Block
from explainer.reading.formats import cpython, ipython

#: The order matters: what is more particular comes first.
FORMATS: tuple[ModuleType, ...] = (ipython, cpython)


def blocks(texts: list[str]) -> Iterator[Block]:
    """All exceptions in order, each once; a block begins where the last one ended or later."""
    at = 0
    while at < len(texts):
        found = _read(texts, at) if texts[at] else None
        if found is None:
            at += 1
            continue
        yield found
        at = max(found.end, at + 1)


def _read(texts: list[str], at: int) -> Block | None:
    for one in FORMATS:
        if one.starts(texts[at]):
            found = one.read(texts, at)
            if found is not None:
                return found
    return None
