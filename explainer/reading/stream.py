"""Errors of a log of any size: only the stretches around a telling line are decoded and read, one at a time."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from explainer.crash import Found
from explainer.reading.decode import decode, encoding_of
from explainer.reading.document import errors, seen_in
from explainer.reading.order import Seen, arrange

#: What is read whole, in bytes; one read of a larger file; the longest stretch; how much around a telling line counts.
SMALL = 4 << 20
_CHUNK = 4 << 20
_LONGEST = 4 << 20
_BEFORE, _AFTER, _LINES = 8 << 10, 32 << 10, 2 << 10
#: Something in a traceback's lines that each format has; a text without any has at most an error's line alone.
_TELLING = (
    b"Traceback (most",
    b'File "',
    b"Exception has occurred",
    b"Assertion `",
    b"Fatal Python",
    b"terminate called",
    b"\nE   ",
    b"(most recent call",
    b"---> ",
    b"^^^^",
)
#: What may name an error without a traceback.
_ALONE = (b"Error: ", b"Exception: ", b"CUDA out of memory", b"CUDA error")
#: A notebook is one JSON document, and large where it holds pictures; up to so many bytes it is read whole.
_NOTEBOOK = 32 << 20
_MOST = 2000
_MOST_ALONE = 20


class Readable(Protocol):
    """What a log is read from; `read(size)` gives fewer bytes than asked for only at the end."""

    def read(self, size: int = -1, /) -> bytes: ...


@dataclass
class _Log:
    """The errors seen so far, and the stretch of the log that is being collected."""

    name: str | None
    seen: list[Seen] = field(default_factory=list)
    alone: list[Seen] = field(default_factory=list)
    stretch: bytes = b""
    line: int = 1

    def read(self) -> None:
        """Reads the collected stretch and forgets it."""
        stretch, self.stretch = self.stretch, b""
        if not stretch:
            return
        found = [_moved(one, self.line - 1) for one in seen_in(decode(stretch), self.name)]
        named = [one for one in found if one.alone]
        raised = [one for one in found if not one.alone]
        if raised:
            writers = {one.writer for one in raised}
            self.seen = [
                replace(one, later=True) if one.writer in writers and not one.later else one for one in self.seen
            ]
        self.seen = [*self.seen, *raised][:_MOST]
        self.alone = [*self.alone, *named][-_MOST_ALONE:]


def errors_of(file: Readable, name: str | None, progress: Callable[[int], None] | None) -> Iterator[Found]:
    """The errors of a log, ordered, when all of it has been read."""
    most = _NOTEBOOK if name and name.endswith(".ipynb") else SMALL
    head = file.read(most + 1)
    if len(head) <= most:
        if progress:
            progress(len(head))
        yield from errors(decode(head), name)
        return
    log = _Log(name)
    done = 0
    for chunk in _whole_lines(_as_utf8(head, file)):
        _take(log, chunk)
        done += len(chunk)
        if progress:
            progress(done)
    log.read()
    yield from arrange(log.seen or log.alone[-1:])


def _as_utf8(head: bytes, file: Readable) -> Iterator[bytes]:
    """The file's bytes in pieces; wide encodings are turned into UTF-8."""
    wide = encoding_of(head)
    decoder = codecs.getincrementaldecoder(wide)("replace") if wide else None
    piece = head
    while piece:
        yield decoder.decode(piece).encode("utf-8", "replace") if decoder else piece
        piece = file.read(_CHUNK)


def _whole_lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same bytes cut at line ends; a line that fits in no piece is cut where the piece ends."""
    rest = b""
    for piece in pieces:
        end = piece.rfind(b"\n") + 1
        if end:
            yield rest + piece[:end]
            rest = piece[end:]
        else:
            rest += piece
            if len(rest) > _LONGEST:
                yield rest
                rest = b""
    if rest:
        yield rest


def _take(log: _Log, chunk: bytes) -> None:
    """Adds a piece of the log: stretches near telling lines are collected, the rest is only counted."""
    at = 0
    for start, end in _stretches(chunk):
        if start > at or not log.stretch:
            _skip(log, chunk, at, start)
        log.stretch += chunk[max(start, at) : end]
        at = end
        if len(log.stretch) > _LONGEST:
            _skip(log, chunk, at, at)
    if at < len(chunk):
        _skip(log, chunk, at, len(chunk))


def _skip(log: _Log, chunk: bytes, at: int, to: int) -> None:
    """Reads the stretch that ends here and steps over what follows it."""
    lines = log.stretch.count(b"\n")
    log.read()
    log.line += lines + chunk.count(b"\n", at, to)


def _stretches(chunk: bytes) -> Iterator[tuple[int, int]]:
    """Where in the chunk something may be told: whole lines, in order, apart from each other."""
    start = end = -1
    for first, last in _spots(chunk):
        if first > end:
            if end > start:
                yield start, end
            start = first
        end = max(end, last)
    if end > start:
        yield start, end


def _spots(chunk: bytes) -> Iterator[tuple[int, int]]:
    """The surroundings of telling places, in order; of places that lie close together not each one's."""
    ahead = dict.fromkeys((*_TELLING, *_ALONE), -1)
    done = 0
    while True:
        for word, place in list(ahead.items()):
            if place < done:
                ahead[word] = chunk.find(word, done)
                if ahead[word] < 0:
                    del ahead[word]
        if not ahead:
            return
        word = min(ahead, key=lambda one: ahead[one])
        at, (before, after) = ahead[word], (0, _LINES) if word in _ALONE else (_BEFORE, _AFTER)
        first = chunk.rfind(b"\n", 0, max(0, at - before)) + 1
        last = chunk.find(b"\n", min(len(chunk), at + after)) + 1 or len(chunk)
        yield first, last
        done = at + after // 2


def _moved(one: Seen, lines: int) -> Seen:
    place = one.found.place
    return replace(one, found=replace(one.found, place=replace(place, line=(place.line or 1) + lines)))
