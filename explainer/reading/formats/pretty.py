"""pretty_errors: the file, the line and the function on lines of their own, `Type:` and the message under it."""

from __future__ import annotations

from explainer.crash import Frame
from explainer.patterns import Pattern
from explainer.reading.block import KIND, Block, frame

_ONE = Pattern(r"^(?P<file>\S.{0,1000}?\.pyw?|<[^>]{1,80}>) (?P<line>\d{1,9}) (?P<function>[\w<>.]{1,200})$")
_PATH = Pattern(r"^(?:[~/\\.]|[A-Za-z]:[\\/]).{0,1000}\.pyw?$|^<[^>]{1,80}>$")
_PLACE = Pattern(r"^(?P<line>\d{1,9}) (?P<function>[\w<>.]{1,200})$")
_TYPE = Pattern(rf"^(?P<type>(?:\w+\.){{0,8}}{KIND}):?$")


def starts(text: str) -> bool:
    """Whether a frame may stand on this line."""
    return len(text) < 1200 and bool(_ONE.match(text) or _PATH.match(text))


def read(texts: list[str], at: int) -> Block | None:
    """The frames from line `at` on with the exception under them, or None."""
    frames: list[Frame] = []
    here = at
    while here < len(texts):
        one = _ONE.match(texts[here])
        two = _PATH.match(texts[here]) and here + 1 < len(texts) and _PLACE.match(texts[here + 1])
        if one:
            frames.append(frame(one["file"], one["line"], one["function"], _line(texts, here + 1)))
        elif two:
            frames.append(frame(texts[here], two["line"], two["function"], _line(texts, here + 2)))
        elif not frames:
            return None
        kind = _TYPE.match(texts[here]) if frames else None
        if kind:
            end = _paragraph(texts, here + 1)
            return Block(at, end, kind["type"], "\n".join(texts[here + 1 : end]), tuple(frames))
        if here - at > 3000:
            return None
        here += 1
    return None


def _line(texts: list[str], at: int) -> str:
    return texts[at] if at < len(texts) else ""


def _paragraph(texts: list[str], at: int) -> int:
    """The index of the next blank line."""
    return next((here for here in range(at, len(texts)) if not texts[here].strip()), len(texts))
