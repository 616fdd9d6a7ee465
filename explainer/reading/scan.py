"""Finds the exceptions in the lines of one writer: each format is asked in turn, the first that can read wins."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from explainer.crash import Raised
from explainer.reading import groups
from explainer.reading.block import Block
from explainer.reading.chains import join
from explainer.reading.formats import cpp, cpython, ipython, pretty, pytest, richbox, saidfirst

#: The order matters: what is more particular comes first.
FORMATS: tuple[ModuleType, ...] = (richbox, ipython, pytest, pretty, saidfirst, cpp, cpython)


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


def _last(texts: list[str]) -> Raised | None:
    """The last exception of some lines with its chain."""
    joined = list(join(texts, blocks(texts)))
    return joined[-1].raised if joined else None


def _read(texts: list[str], at: int) -> Block | None:
    if groups.starts(texts[at]):
        return groups.read(texts, at, _last)
    for one in FORMATS:
        if one.starts(texts[at]):
            found = one.read(texts, at)
            if found is not None:
                return found
    return None
