"""What a process prints that dies outside Python: C++'s `terminate called`, faulthandler's `Fatal Python error`."""

from __future__ import annotations

from explainer.crash import Frame
from explainer.patterns import Pattern
from explainer.reading.block import LONGEST, Block, frame

_TERMINATE = Pattern(
    r"^terminate called (?:after throwing an instance of '(?P<type>[^'\n]{1,200})'|without an active exception"
    r"|recursively)"
)
_WHAT = Pattern(r"^\s*what\(\):\s{1,4}(?P<message>.*)$")
_FATAL = Pattern(r"^(?P<message>(?:Fatal Python error|Windows fatal exception): .*)$")
_STACK = Pattern(r"^(?:Current thread|Thread) 0x[0-9a-fA-F]+.{0,80}\(most recent call first\):")
_FRAME = Pattern(r'^\s*File "(?P<file>[^"\n]{1,1000})", line (?P<line>\d{1,9}|\?{3}) in (?P<function>.{1,200})$')
_END = Pattern(r"^(?:\s*$|Exception raised from |frame #\d|C\+\+ CapturedTraceback|\*\*\* |Aborted|Fatal Python)")


def starts(text: str) -> bool:
    """Whether such a report begins on this line."""
    return len(text) <= LONGEST and bool(_TERMINATE.match(text) or _FATAL.match(text))


def read(texts: list[str], at: int) -> Block | None:
    """The report that begins on line `at`."""
    fatal = _FATAL.match(texts[at])
    return _fatal(texts, at, fatal["message"]) if fatal else _terminated(texts, at)


def _terminated(texts: list[str], at: int) -> Block | None:
    match = _TERMINATE.match(texts[at])
    what = _WHAT.match(texts[at + 1]) if at + 1 < len(texts) else None
    if match is None or what is None:
        return None
    end = at + 2
    while end < min(len(texts), at + 40) and not _END.match(texts[end]):
        end += 1
    message = "\n".join([what["message"], *texts[at + 2 : end]]).rstrip()
    return Block(at, end, match["type"] or "", message, said=at + 1)


def _fatal(texts: list[str], at: int, message: str) -> Block:
    """faulthandler's dump: the current thread's stack is innermost first."""
    stack = next((here for here in range(at + 1, min(len(texts), at + 12)) if _STACK.match(texts[here])), None)
    frames: list[Frame] = []
    end = at + 1 if stack is None else stack + 1
    while stack is not None and end < len(texts) and (match := _FRAME.match(texts[end])):
        frames.append(frame(match["file"], match["line"].replace("???", "0"), match["function"]))
        end += 1
    return Block(at, end, "", message, tuple(reversed(frames)), said=at)
