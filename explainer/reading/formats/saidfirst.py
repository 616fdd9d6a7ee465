"""Reports that name the exception before its frames: Sentry's text, the boxes of debuggers."""

from __future__ import annotations

from explainer.crash import Frame
from explainer.patterns import Pattern
from explainer.reading.block import HEADER, SURE, Block, connective, frame, frame_line

_BOX = Pattern(r"^\s*Exception has occurred: (?P<type>[A-Za-z_][\w.]*)(?:\s.*)?$")
_GAP = 12


def starts(text: str) -> bool:
    """Whether such a report may begin on this line."""
    if "Exception has occurred" in text:
        return bool(_BOX.match(text))
    if len(text) > 20_000 or not text[:1].isalpha() or ":" not in text:
        return False
    said = SURE.match(text)
    return said is not None and not said["type"].endswith("Warning")


def read(texts: list[str], at: int) -> Block | None:
    """The report that begins on line `at`: its exception, and the frames under it, outermost first."""
    box = _BOX.match(texts[at])
    first = _first_frame(texts, at + 1, box is not None)
    if first is None:
        return Block(at, at + 1 + bool(box), box["type"], _message(texts, at + 1), said=at) if box else None
    said = box or SURE.match(texts[at])
    frames, end = _frames(texts, first)
    if said is None or not frames or _said_again(texts, end):
        return None
    lines = texts[at + 1 : first] if box else [said["message"] or "", *texts[at + 1 : first]]
    if frames[-1].function == "<module>" and frames[0].function != "<module>":
        frames.reverse()
    return Block(at, end, said["type"], "\n".join(lines).strip(), tuple(frames), said=at)


def _message(texts: list[str], at: int) -> str:
    return texts[at].strip() if at < len(texts) else ""


def _first_frame(texts: list[str], at: int, far: bool) -> int | None:
    """The index of the first frame under the exception; None where something else comes first."""
    for here in range(at, min(len(texts), at + (_GAP if far else 3))):
        if HEADER.search(texts[here]) or connective(texts[here]):
            return None
        if frame_line(texts[here]):
            return here
        if not far and texts[here].strip():
            return None
    return None


def _frames(texts: list[str], here: int) -> tuple[list[Frame], int]:
    frames: list[Frame] = []
    while here < len(texts):
        match = frame_line(texts[here])
        if match:
            frames.append(frame(match["file"], match["line"], match["function"] or "", ""))
        elif frames and not frames[-1].code and texts[here].strip() and texts[here][:1].isspace():
            last = frames[-1]
            frames[-1] = frame(last.file, last.line, last.function, texts[here])
        elif not texts[here][:1].isspace():
            break
        here += 1
    return frames, here


def _said_again(texts: list[str], at: int) -> bool:
    """Whether the exception's line follows its frames: then the line above belonged to something else."""
    return any(SURE.match(text.strip()) for text in texts[at : at + 2])
