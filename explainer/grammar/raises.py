"""What the installed torch's Python sources raise: each type with the texts that stand in its `raise` statements.

Read once for each type, when a message is in doubt. Torch is not imported; its sources are searched, not parsed.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from explainer.grammar import installed

#: Its copies of other packages, which raise what those raise.
_COPIES = re.compile(r"/(?:_vendor|_numpy|polyfills)/")
_STRING = rb"[rfRFbB]{0,2}(?:\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
_TEXTS = rb"\(\s*((?:" + _STRING + rb"\s*)+)"
_PIECE = re.compile(_STRING)
_PLACE = re.compile(r"\{\{|\}\}|\{[^{}]*\}|%[-\d.]*(?:\(\w+\))?[sdrifgx]")
#: So many words, and letters of them, are enough to be no chance where the type agrees as well.
_WORDS, _LETTERS = 3, 18


def has(kind: str, text: str) -> bool:
    """Whether torch's sources raise a type with a text: with whatever stands at the places of values."""
    text = text.strip()
    return any(part in text and _matches(text, template) for part, template in _index(kind))


def _matches(text: str, template: tuple[str, ...]) -> bool:
    """Whether a text begins and ends as a template does, and has what stands between its values in order."""
    if len(template) == 1:
        return text == template[0]
    first, *between, last = template
    if not (text.startswith(first) and text.endswith(last)):
        return False
    at, end = len(first), len(text) - len(last)
    for part in between:
        at = text.find(part, at, end) + len(part)
        if at < len(part):
            return False
    return at <= end


@functools.cache
def _index(kind: str) -> list[tuple[str, tuple[str, ...]]]:
    """The texts of a type, parted at their values, with the longest part before each."""
    found = []
    for text in _raised(kind):
        parts = tuple(_PLACE.split(text))
        if _tells(parts):
            found.append((max(parts, key=len), parts))
    return found


def _tells(parts: tuple[str, ...]) -> bool:
    words = re.findall(r"[A-Za-z_]{2,}", " ".join(parts))
    return len(words) >= _WORDS and sum(map(len, words)) >= _LETTERS


def _raised(kind: str) -> Iterator[str]:
    raising = re.compile(rb"\braise\s+(?:\w+\.)*" + re.escape(kind).encode() + _TEXTS)
    for file, source in installed.sources():
        if not _COPIES.search(file):
            for found in raising.finditer(source):
                yield "".join(_unquoted(piece.decode(errors="replace")) for piece in _PIECE.findall(found[1])).strip()


def _unquoted(piece: str) -> str:
    """What stands between the quotes of a string; escaped characters count as values."""
    inside = piece.lstrip("rfRFbB")[1:-1]
    return re.sub(r"\\.", lambda found: "\n" if found[0] == "\\n" else found[0][1], inside)
