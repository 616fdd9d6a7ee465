"""A broken program and where it was broken."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from mutations.programs import Program, Source

Place = tuple[str, int]


@dataclass(frozen=True)
class Change:
    """One way to break a file: `text` for the characters `start` to `end`.

    `also` are lines of the untouched files at which another edit is as good an answer; `dropped` says that something
    is missing now, so that the lines next to the place are answers too.
    """

    kind: str
    family: tuple[str, ...]
    what: str
    start: int
    end: int
    text: str
    also: frozenset[Place] = frozenset()
    dropped: bool = False


@dataclass(frozen=True)
class Mutant:
    """A broken program: its files, the lines that were broken (`truth`), lines that are as good an answer (`also`)."""

    program: str
    kind: str
    family: tuple[str, ...]
    what: str
    files: dict[str, str]
    truth: frozenset[Place]
    also: frozenset[Place]

    @property
    def name(self) -> str:
        """Ten letters that stand for this text of the program."""
        return hashlib.sha256(repr(sorted(self.files.items())).encode()).hexdigest()[:10]


def broken(program: Program, source: Source, change: Change) -> Mutant | None:
    """The program with the change; None where it no longer parses or nothing differs."""
    text = source.text[: change.start] + change.text + source.text[change.end :]
    try:
        ast.parse(text)
    except SyntaxError:
        return None
    if text == source.text:
        return None
    old, new = source.text.splitlines(), text.splitlines()
    first, last = _differing(old, new)
    after = len(new) - (len(old) - last)
    truth = set(range(first + 1, after + 1))
    if change.dropped and not truth:
        truth = {line for line in (first, first + 1) if 1 <= line <= len(new)}
    also = {(file, _moved(line, first, last, after) if file == source.name else line) for file, line in change.also}
    places = frozenset((source.name, line) for line in truth)
    return Mutant(
        program.name,
        change.kind,
        change.family,
        change.what,
        {**program.files, source.name: text},
        places,
        frozenset(also) - places,
    )


def _differing(old: list[str], new: list[str]) -> tuple[int, int]:
    """The half-open range of old lines that differ."""
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    tail = 0
    while tail < min(len(old), len(new)) - first and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return first, len(old) - tail


def _moved(line: int, first: int, last: int, after: int) -> int:
    return line if line <= first else line + after - last if line > last else min(line, after)


def places(source: Source, lines: Iterable[int]) -> frozenset[Place]:
    """Lines of a source as places."""
    return frozenset((source.name, line) for line in lines)
