"""Finds the exceptions in the lines of one writer: each format is asked in turn, the first that can read wins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType

from explainer.crash import Raised
from explainer.reading import groups
from explainer.reading.block import Block
from explainer.reading.chains import join
from explainer.reading.formats import cpp, cpython, ipython, pretty, pytest, richbox, saidfirst

#: The order matters: what is more particular comes first.
FORMATS: tuple[ModuleType, ...] = (richbox, ipython, pytest, pretty, saidfirst, cpp, cpython)

#: How often a format may begin in vain in a short text; in a longer one once more for each thousand lines.
_IN_VAIN = 100
#: After how many vain beginnings a format is shown only so many lines, and how near to their end
#: an error counts as cut.
_PATIENT, _SHOWN, _EDGE = 10, 400, 20

Reader = Callable[[list[str], int], Block | None]


def blocks(texts: list[str]) -> Iterator[Block]:
    """All exceptions in order, each once; a block begins where the last one ended or later.

    A format that has begun in vain too often is not asked again: so the time grows with the length of the text only.
    """
    in_vain: dict[str, int] = {}
    most = _IN_VAIN + len(texts) // 1000
    at = 0
    while at < len(texts):
        found = _read(texts, at, in_vain, most) if texts[at] else None
        if found is None:
            at += 1
            continue
        yield found
        at = max(found.end, at + 1)


def _last(texts: list[str]) -> Raised | None:
    """The last exception of some lines with its chain."""
    joined = list(join(texts, blocks(texts)))
    return joined[-1].raised if joined else None


def _read(texts: list[str], at: int, in_vain: dict[str, int], most: int) -> Block | None:
    for name, starts, read in _READERS:
        if in_vain.get(name, 0) < most and starts(texts[at]):
            found = _patiently(read, texts, at, in_vain.get(name, 0))
            if found is not None:
                in_vain.pop(name, None)
                return found
            in_vain[name] = in_vain.get(name, 0) + 1
    return None


def _patiently(read: Reader, texts: list[str], at: int, in_vain: int) -> Block | None:
    """The block that a format reads from line `at` on; where it often began in vain, it looks ahead less far."""
    if in_vain < _PATIENT or at + _SHOWN >= len(texts):
        return read(texts, at)
    found = read(texts[: at + _SHOWN], at)
    return read(texts, at) if found is not None and found.end + _EDGE > at + _SHOWN else found


def _group(texts: list[str], at: int) -> Block | None:
    return groups.read(texts, at, _last)


_READERS = (
    ("group", groups.starts, _group),
    *((one.__name__, one.starts, one.read) for one in FORMATS),
)
