"""Joins lines again that a terminal or a mail program broke."""

from __future__ import annotations

import re

from explainer.reading.block import Lines, frame_line

_BEGUN = re.compile(r"^\s*File(?: \".*|\s*)$")
_WHOLE = re.compile(r'^\s*File ".{1,2000}", line \d+(?:, in ?.*)?$')
_NARROWEST, _WIDEST = 40, 400


def rejoined(lines: Lines) -> Lines:
    """The same lines with those joined that were broken at the width of a terminal, or between words."""
    width = _cut_width(lines.texts)
    if width:
        lines = _joined(lines, lambda above, below: len(above) == width and not frame_line(below), "")
    return _words(lines)


def _cut_width(texts: list[str]) -> int | None:
    """The width at which a terminal cut the lines: that of a frame's line which is whole only with the next one."""
    for above, below in zip(texts, texts[1:], strict=False):
        if 'File "' in above and _NARROWEST <= len(above) <= _WIDEST and _BEGUN.match(above):
            if not _WHOLE.match(above) and _WHOLE.match(above + below) and not below.startswith(" "):
                return len(above)
            if _WHOLE.match(above) and re.search(r"(?:line \d*|in \w*)$", above) and re.match(r"\d+, in |\w+$", below):
                return len(above)
    return None


def _joined(lines: Lines, when, glue: str) -> Lines:
    out = Lines([], [], lines.writer)
    above_raw = None
    for at, text in enumerate(lines.texts):
        if out.texts and above_raw is not None and when(above_raw, text):
            out.texts[-1] += glue + text
        else:
            if at in lines.prefixes:
                out.prefixes[len(out.texts)] = lines.prefixes[at]
            out.texts.append(text)
            out.numbers.append(lines.numbers[at])
        above_raw = text
    return out


def _words(lines: Lines) -> Lines:
    """Frame lines that were broken between words."""
    def broken(above: str, below: str) -> bool:
        return _unfinished(above) and bool(below.strip()) and (below.lstrip()[:1] == '"' or not frame_line(below))

    if not any(_unfinished(text) for text in lines.texts):
        return lines
    return _joined(lines, broken, " ")


def _unfinished(text: str) -> bool:
    """Whether a line is the beginning of a frame's line."""
    if "File" not in text and ", line" not in text:
        return False
    return bool(re.match(r"^\s*File$|^\s*(?:File )?\"[^\"]{1,1000}\",(?: line)?$|^\s*(?:File )?\"[^\"]{1,1000}\", line \d+, in$", text))
