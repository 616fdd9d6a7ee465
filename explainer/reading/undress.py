"""Takes off what stands around an error in a text: colours, line ends, prefixes of logs, quotes, fences."""

from __future__ import annotations

import re

from explainer.reading.block import Lines

_ESCAPES = re.compile(
    r"\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~]|\x1b\][^\x07\x1b]{0,512}(?:\x07|\x1b\\)?|\x1b[PX^_][^\x1b]{0,512}\x1b\\|\x1b[ -/]{0,4}[0-~]"
)
_ENDS = re.compile(r"\r{0,8}\n|\r|\x85|\u2028|\u2029")


def writers(text: str) -> list[Lines]:
    """The lines of each writer of a text (one where nothing tells them apart)."""
    text = _ESCAPES.sub("", text).replace("\0", "") if "\x1b" in text or "\0" in text else text
    texts = [line.rstrip() for line in _ENDS.split(text)]
    return [Lines(texts, list(range(1, len(texts) + 1)))]
