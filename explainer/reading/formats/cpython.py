"""Tracebacks as Python prints them, whole or cut, with or without indentation; IPython's plain mode too."""

from __future__ import annotations

import re
from dataclasses import replace

from explainer.crash import Frame
from explainer.patterns import Pattern
from explainer.reading.block import HEADER, SAID, SURE, Block, connective, frame, frame_line, indent_of
from explainer.reading.messages import end_of_message, stops

_CARETS = Pattern(r"^[\s~^]*[~^][\s~^]*$")
_FOLDED = Pattern(r"^\s*(?:\[Previous line repeated|\.\.\.|\[\.\.\. |\(\.\.\.\)|-{1,6}> ?\d)")
_ARROW = Pattern(r"^\s*-{1,6}> ?\d{1,9} (?P<code>.*)$")
#: How many lines of noise between two frames are tolerated.
_GAP = 12
#: How far below its frame a line of code is looked for.
_WOVEN = 4


def starts(text: str) -> bool:
    """Whether a traceback may begin on this line."""
    return bool(HEADER.search(text)) if "Traceback" in text else frame_line(text) is not None


def read(texts: list[str], at: int) -> Block | None:
    """The traceback that begins on line `at`, or None."""
    here = at + 1 if HEADER.search(texts[at]) else at
    frames: list[Frame] = []
    base, lost = indent_of(texts[at]) if here > at else 0, False
    if here > at and texts[at].lstrip()[:9] not in ("Traceback", "Original "):
        base = 0
    while here < len(texts):
        text = texts[here]
        match = frame_line(text)
        if match:
            if not frames:
                base, lost = _base(texts, at, here, len(match["indent"]))
            if text.startswith("> "):
                frames.clear()  # loguru marks the frame that caught; those above it are how the program got there
            here, found = _frame(texts, here, match)
            frames.append(found)
            continue
        said = _said(text, base, lost, bool(frames))
        if said and (frames or here > at + 1 or not _far(texts, here)):
            return _finish(texts, at, here, said, frames, base)
        arrow = _ARROW.match(text) if frames and len(text) < 1000 else None
        if arrow:
            frames[-1] = replace(frames[-1], code=arrow["code"].strip())
        after = _after_noise(texts, here, base, lost, bool(frames))
        if after is None:
            break
        here = after
    return Block(at, max(here, at + 1), "", "", tuple(frames), indent=base) if frames else None


def _base(texts: list[str], at: int, here: int, indent: int) -> tuple[int, bool]:
    """The indentation of the exception's own line, by that of the first frame, and whether indentation was lost."""
    below = texts[_code_at(texts, here + 1, indent)] if here + 1 < len(texts) else ""
    flat = bool(below) and indent_of(below) <= indent and not frame_line(below)
    headed = here > at and texts[at].lstrip()[:9] in ("Traceback", "Original ") and indent <= indent_of(texts[at])
    if headed or indent < 2 or (flat and not SURE.match(below.strip())):
        return indent, True
    return indent - 2, False


def _frame(texts: list[str], here: int, match: re.Match[str]) -> tuple[int, Frame]:
    """The frame whose line is `here` with its code, and the index of the line after."""
    code, depth = "", len(match["indent"])
    after = here + 1
    after = _code_at(texts, after, depth) if after < len(texts) else after
    if after < len(texts):
        text = texts[after]
        is_code = text.strip() and not frame_line(text) and not _CARETS.match(text) and not HEADER.search(text)
        if is_code and (indent_of(text) > depth or (depth < 2 and not SURE.match(text.strip()))):
            code = text
    return (after + 1 if code else here + 1), frame(match["file"], match["line"], match["function"] or "", code)


def _code_at(texts: list[str], at: int, depth: int) -> int:
    """The line of a frame's code: line `at`, or one below, where blanks or lines of another writer stand between."""
    below = range(at, min(len(texts), at + _WOVEN))
    for here in below:
        text = texts[here]
        if indent_of(text) > depth > 1 and text.strip() and not frame_line(text):
            return here
        if frame_line(text) or HEADER.search(text) or SURE.match(text.strip()):
            break
    return next((here for here in below[:2] if texts[here].strip()), at)


def _said(text: str, base: int, lost: bool, framed: bool) -> re.Match[str] | None:
    """The match of an exception's own line at the traceback's indentation."""
    if not text.strip() or len(text) > 100_000 or connective(text):
        return None
    depth = indent_of(text)
    if lost:
        return SURE.match(text.strip()) if depth <= base else None
    if depth != base:
        return None
    found = SAID.match(text[base:])
    if found is None:
        return None
    name = found["type"].split("(")[0].rsplit(".", 1)[-1]
    if found["message"] is None and not framed and not SURE.match(text.strip()):
        return None
    known = SURE.match(found["type"]) or "." in found["type"] or name[:1].isupper()
    return found if known and name not in ("File", "Cell", "Traceback", "Process") else None


def _far(texts: list[str], here: int) -> bool:
    return any(frame_line(text) for text in texts[here : here + 3])


def _after_noise(texts: list[str], here: int, base: int, lost: bool, framed: bool) -> int | None:
    """The index at which the traceback goes on after a line that is neither frame nor exception; None where it ends."""
    text = texts[here]
    if HEADER.search(text) or connective(text):
        return None
    if text.strip() and (_CARETS.match(text) or _FOLDED.match(text) or indent_of(text) > base):
        return here + 1
    if not text.strip() and framed:
        below = next((ahead for ahead in range(here, min(len(texts), here + _GAP)) if texts[ahead].strip()), here)
        if indent_of(texts[below]) > base and below > here:
            return below
    limit = min(len(texts), here + _GAP)
    for ahead in range(here, limit):
        if HEADER.search(texts[ahead]) or connective(texts[ahead]):
            return None
        if frame_line(texts[ahead]):
            return ahead
        if framed and _said(texts[ahead], base, lost, framed) and _near(texts, here, ahead, lost):
            return ahead
    return None


def _near(texts: list[str], here: int, ahead: int, lost: bool) -> bool:
    """Whether hardly more than blank lines, carets and pieces of code stand between."""
    between = [text for text in texts[here:ahead] if text.strip() and not _CARETS.match(text)]
    return len(between) <= 2 or (lost and not any(stops(text) for text in between))


def _finish(texts: list[str], at: int, here: int, said: re.Match[str], frames: list[Frame], base: int) -> Block:
    first = said["message"] or ""
    end = end_of_message(texts, here, first, base) if said["message"] is not None else here + 1
    rest = [text[base:] if not text[:base].strip() else text for text in texts[here + 1 : end]]
    message = "\n".join([first, *rest]) if rest else first
    notes, after = _notes(texts, end, base)
    return Block(at, after, said["type"], message, tuple(_once(frames)), notes, here, indent=base)


def _once(frames: list[Frame]) -> list[Frame]:
    """The frames without a second listing of the same stack (stackprinter adds a short one)."""
    half = len(frames) // 2
    if half > 1 and len(frames) % 2 == 0 and frames[0].function == "<module>" and _same(frames[:half], frames[half:]):
        return frames[:half]
    return frames


def _same(some: list[Frame], others: list[Frame]) -> bool:
    return [(one.file, one.line) for one in some] == [(one.file, one.line) for one in others]


def _notes(texts: list[str], end: int, base: int) -> tuple[tuple[str, ...], int]:
    """Lines directly under the message that nothing else claims: notes of the exception, or a word of the program."""
    notes = []
    for text in texts[end : end + 20]:
        if not text.strip() or stops(text) or indent_of(text) < base or frame_line(text):
            break
        notes.append(text[base:])
    return tuple(notes), end + len(notes)
