"""The markdown that rule pages are written in, taken apart for a template: no more of it than those pages use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_INLINE = re.compile(r"`(?P<code>[^`]+)`|\*\*(?P<strong>.+?)\*\*|\*(?P<em>[^*]+)\*|<(?P<link>https?://[^>\s]+)>")
_FENCE = "```"
Block = tuple[str, Any]


def blocks(text: str) -> Iterator[Block]:
    """Headings (`h1` to `h3`), `item`s of lists, `code` and paragraphs (`p`); words as pieces of (kind, text)."""
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith(_FENCE):
            yield "code", "\n".join(_until_fence(lines))
        elif line.startswith("- "):
            yield "item", pieces(line[2:])
        elif line.startswith("#"):
            marks, _, title = line.partition(" ")
            yield f"h{min(len(marks), 3)}", pieces(title)
        elif line.strip():
            yield "p", pieces(line)


def _until_fence(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if line == _FENCE:
            return
        yield line


def pieces(text: str) -> list[tuple[str, str]]:
    """A line in pieces: `code`, `strong`, `em`, `link` and `text`."""
    found, at = [], 0
    for match in _INLINE.finditer(text):
        found += [("text", text[at : match.start()]), (str(match.lastgroup), match[str(match.lastgroup)])]
        at = match.end()
    return [(kind, piece) for kind, piece in [*found, ("text", text[at:])] if piece]
