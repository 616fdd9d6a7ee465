"""The boxes of rich's traceback and of all that prints with it (typer, structlog, Lightning)."""

from __future__ import annotations

import itertools
import re

from explainer.crash import Frame
from explainer.patterns import Pattern
from explainer.reading.block import SAID, Block, connective, frame
from explainer.reading.messages import end_of_message, stops

_TOP = Pattern(r"^\s*[╭┌+][─-]{3,} Traceback \(most recent call last\) [─-]{3,}[╮┐+]\s*$")
_BOTTOM = Pattern(r"^\s*[╰└+][─-]{10,}[╯┘+]\s*$")
_PLACE = Pattern(r"^(?P<file>\S.{0,1000}?):(?P<line>\d{1,9})(?: in (?P<function>.{1,400}))?$")
_ARROW = Pattern(r"^❱ ?(?P<line>\d{1,9}) (?P<code>.*)$")
_SIDES = "│|"


def starts(text: str) -> bool:
    """Whether a box begins on this line."""
    return "Traceback" in text and bool(_TOP.match(text))


def read(texts: list[str], at: int) -> Block | None:
    """The box that begins on line `at` and the exception's line under it."""
    width = len(texts[at].strip())
    inside, here = _inside(texts, at)
    frames = _frames(inside)
    while here < len(texts) and not texts[here].strip():
        here += 1
    said = SAID.match(texts[here].strip()) if here < len(texts) and not connective(texts[here]) else None
    if said is None:
        return Block(at, here, "", "", tuple(frames)) if frames else None
    end = _end(texts, here, said["message"] or "", width)
    lines = [said["message"] or "", *texts[here + 1 : end]]
    return Block(at, end, said["type"], _unwrapped(lines, width), tuple(frames), said=here)


def _inside(texts: list[str], at: int) -> tuple[list[str], int]:
    """The lines within the box, its sides off, and the index after it."""
    lines: list[str] = []
    here = at + 1
    while here < len(texts):
        text = texts[here].strip()
        here += 1
        if _BOTTOM.match(text):
            break
        if text[:1] not in _SIDES:
            return lines, here - 1
        lines.append(text[1:-1].strip() if text[-1:] in _SIDES else text[1:].strip())
    return lines, here


def _frames(lines: list[str]) -> list[Frame]:
    """The frames: each is a paragraph `file:line in function`, its code the paragraph with the arrow."""
    frames: list[Frame] = []
    paragraph: list[str] = []
    for line in [*lines, ""]:
        arrow = _ARROW.match(line)
        if arrow and frames:
            frames[-1] = frame(frames[-1].file, frames[-1].line, frames[-1].function, arrow["code"].strip("│ "))
        if line and line[0] not in "╭╰│❱":
            paragraph.append(line)
            continue
        place = _place(paragraph)
        frames += [frame(place["file"], place["line"], place["function"] or "")] if place else []
        paragraph = []
    return frames


def _place(paragraph: list[str]) -> re.Match[str] | None:
    if not paragraph or len(paragraph) > 6 or re.match(r"^(?:\d+ |[\w.]+ = )", paragraph[0]):
        return None
    return (
        _PLACE.match("".join(paragraph))
        if not paragraph[0].endswith(" in") and _whole(paragraph)
        else _PLACE.match(" ".join(paragraph))
    )


def _whole(paragraph: list[str]) -> bool:
    """Whether the file's name was cut without a blank: the line number follows in the next line."""
    return len(paragraph) == 1 or not re.search(r":\d+(?: in)?$", paragraph[0])


def _end(texts: list[str], here: int, first: str, width: int) -> int:
    """The index after the message: rich wraps it at the width of the box."""
    end = end_of_message(texts, here, first)
    while (
        end < len(texts) and texts[end].strip() and _full(texts[end - 1], texts[end], width) and not stops(texts[end])
    ):
        end = max(end + 1, end_of_message(texts, end, texts[end]))
    return end


def _full(above: str, below: str, width: int) -> bool:
    """Whether the next word would not have fitted on the line above."""
    word = below.split(maxsplit=1)[0] if below.strip() else ""
    return len(above) + 1 + len(word) > width


def _unwrapped(lines: list[str], width: int) -> str:
    out = [lines[0]]
    for above, below in itertools.pairwise(lines):
        if below.strip() and not below[:1].isspace() and _full(above, below, width):
            out[-1] = f"{out[-1].rstrip()} {below}"
        else:
            out.append(below)
    return "\n".join(out)
