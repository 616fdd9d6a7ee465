"""How much of source files is read: large ones are never parsed, of those only the lines that are asked for."""

from __future__ import annotations

import os
import stat

#: Bytes of the largest file that is parsed (its tree takes up to 2 s and 400 MB), and of all that one answer parses.
PARSED, TOGETHER = 400_000, 1_600_000
#: Bytes of a larger file in which a line is looked for, of the longest line that is kept, lines between two bookmarks.
SEARCHED, LONGEST, APART = 64 << 20, 20_000, 1000


def size_of(file: str) -> int | None:
    """The bytes of a regular file, 0 for what is none (a folder, a pipe, a device); None where there is nothing."""
    try:
        found = os.stat(file)
    except (OSError, ValueError):
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


class Bookmarks:
    """A large file's lines, each read when it is asked for: where every thousandth begins is found once."""

    def __init__(self, file: str):
        self._file = file
        self._places: list[int] | None = None

    def line(self, number: int) -> str | None:
        """The text of a 1-based line without its newline, cut where it is long; None where there is no such line."""
        if self._places is None:
            self._places = _places(self._file)
        mark = (number - 1) // APART
        if number < 1 or mark >= len(self._places):
            return None
        return _nth_from(self._file, self._places[mark], (number - 1) % APART)


def _places(file: str) -> list[int]:
    """Where the lines 1, 1001, 2001, ... begin, in bytes."""
    places, number, at, begins = [0], 0, 0, True
    try:
        with open(file, "rb") as opened:
            while at < SEARCHED and (piece := opened.readline(LONGEST)):
                if begins and number and number % APART == 0:
                    places.append(at)
                at, begins = at + len(piece), piece.endswith(b"\n")
                number += begins
    except OSError:
        return []
    return places


def _nth_from(file: str, place: int, after: int) -> str | None:
    try:
        with open(file, "rb") as opened:
            opened.seek(place)
            while after and opened.tell() < SEARCHED and (piece := opened.readline(LONGEST)):
                after -= piece.endswith(b"\n")
            piece = b"" if after else opened.readline(LONGEST)
    except OSError:
        return None
    return piece.decode("utf-8", "replace").rstrip("\r\n") if piece else None


class Room:
    """The bytes that one answer may still parse: files that do not fit any more are as if they were not here."""

    def __init__(self) -> None:
        self._left = TOGETHER
        self._admitted: set[str] = set()

    def admits(self, file: str) -> bool:
        """Whether a file is read; one that was admitted stays so."""
        path = os.path.realpath(file)
        if path not in self._admitted:
            size = size_of(path) or 0
            cost = size if size <= PARSED else min(size, SEARCHED) // 100  # what is not parsed is only looked through
            if cost > self._left:
                return False
            self._left -= cost
            self._admitted.add(path)
        return True
