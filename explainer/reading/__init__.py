"""Turns any text into the errors that it holds: dressing off, formats recognised, chains joined, errors ordered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO

from explainer.crash import Found

__all__ = ["read_bytes", "read_stream", "read_text"]


def read_text(text: str, name: str | None = None) -> list[Found]:
    """The errors in a text, the one to read first in front. `name` is what the text is called in `Found.place.input`."""
    from explainer.reading.document import errors

    return errors(text, name)


def read_bytes(data: bytes, name: str | None = None) -> list[Found]:
    """The errors in a file's content: any encoding, notebooks, JSON logs."""
    from explainer.reading.decode import decode

    return read_text(decode(data), name)


def read_stream(
    file: BinaryIO, name: str | None = None, progress: Callable[[int], None] | None = None
) -> Iterator[Found]:
    """The errors of a log of any size, as they are found; `progress` gets the number of bytes read so far."""
    from explainer.reading.stream import errors_of

    return errors_of(file, name, progress)
