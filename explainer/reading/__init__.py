"""Turns any text into the errors that it holds: dressing off, formats recognised, chains joined, errors ordered."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from explainer.crash import Found

if TYPE_CHECKING:
    from explainer.reading.stream import Readable

__all__ = ["read_bytes", "read_stream", "read_text"]


def read_text(text: str, name: str | None = None) -> list[Found]:
    """The errors in a text, the one to read first in front; `name` becomes `Found.place.input`."""
    from explainer.reading.document import errors

    return errors(text, name)


def read_bytes(data: bytes, name: str | None = None) -> list[Found]:
    """The errors in a file's content: any encoding, notebooks, JSON logs."""
    from explainer.reading.decode import decode
    from explainer.reading.stream import SMALL

    if len(data) > SMALL:
        return list(read_stream(io.BytesIO(data), name))
    return read_text(decode(data), name)


def read_stream(
    file: Readable, name: str | None = None, progress: Callable[[int], None] | None = None
) -> Iterator[Found]:
    """The errors of a log of any size, in bounded memory; `progress` gets the number of bytes read so far.

    They come when the log has been read, since only then it is known which to read first and how often each came.
    """
    from explainer.reading.stream import errors_of

    return errors_of(file, name, progress)
