"""Tracebacks of IPython 7 to 9 and the notebooks that use it: `File path:line, in f(x)` with `----> 12` under it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from explainer.crash import Frame
from explainer.patterns import Pattern
from explainer.reading.block import LONGEST, SURE, Block, connective, frame
from explainer.reading.messages import end_of_message

_HEAD = Pattern(
    r"^\s{0,8}(?P<type>(?:[A-Za-z_]\w*\.){0,8}[A-Za-z_]\w*)(?:\s+\(?"
    r"|\s*\(?)Traceback \(most recent call last\)\)?:?(?P<rest> .*)?\s*$"
)
_DOCS = Pattern(r"^\s*Traceback \(most recent call last\): +(?P<place>\S.*)$")
_PLACES = (
    Pattern(r"^\s*File (?P<file>[^\"\s].{0,1000}?):(?P<line>\d{1,9})(?:,? in (?P<function>.{0,400}))?$"),
    Pattern(r"^\s*(?P<file>(?:Cell|Input) In ?\[\d+\])(?:, line (?P<line>\d{1,9}))?(?:,? in (?P<function>.{0,400}))?$"),
    Pattern(
        r"^\s*(?P<file><ipython-input-[^>]{1,80}>|<timed (?:exec|eval)>|<string>|(?:[~/.]|[A-Za-z]:[\\/]"
        r"|\\\\).{0,1000}?) in (?P<function>[^\s(][^(]{0,200}\(.{0,400})$"
    ),
    Pattern(
        r"^\s*(?P<file><ipython-input-[^>]{1,80}>|(?:[~/.]|[A-Za-z]:[\\/]"
        r"|\\\\)\S{0,1000}?\.py\w?) in (?P<function>[^(]{0,200}\(.{0,400})$"
    ),
    Pattern(r"^(?P<file>) ?in (?P<function>[\w<>]{0,80}\(.{0,400}\))$"),
)
_ARROW = Pattern(r"^\s*(?:-{1,8}>|→|--&gt;|❱) ?(?P<line>\d{0,9})(?:\s(?P<code>.*))?$")
_GAP = 300
#: The longest traceback that is read, in lines.
_LONGEST = 5000


@dataclass
class _Open:
    """A frame whose lines are still being read."""

    file: str
    line: int
    function: str
    code: str = ""

    def done(self) -> Frame:
        name = self.function.split("(")[0].strip() or ""
        return frame(self.file, self.line, self.function.strip() if name.startswith("<") else name, self.code)


def starts(text: str) -> bool:
    """Whether an IPython traceback may begin on this line."""
    if len(text) > LONGEST:
        return False
    if "Traceback" in text:
        return bool(_HEAD.match(text) and not text.lstrip().startswith(("Traceback", "Original"))) or bool(
            _DOCS.match(text)
        )
    return bool(_ARROW.match(text)) or _place(text) is not None


def read(texts: list[str], at: int) -> Block | None:
    """The traceback that begins on line `at`, with or without its header, or None."""
    head = _HEAD.match(texts[at]) if "Traceback" in texts[at] else None
    docs = _DOCS.match(texts[at]) if "Traceback" in texts[at] else None
    named = head["type"] if head and head["type"] not in ("Traceback", "Original") else ""
    frames, here = _frames(texts, at, named, docs)
    said = _said(texts, here, named)
    if said is None:
        return _cut(at, here, named, frames)
    if not named and not docs and not any(one.line for one in frames):
        return None
    match, here = said
    base = len(texts[here]) - len(texts[here].lstrip())
    first = match["message"] or ""
    end = end_of_message(texts, here, first, base)
    message = "\n".join([first, *(text[base:] for text in texts[here + 1 : end])])
    return Block(
        at, end, match["type"], message.rstrip(" ") if not message.strip() else message, tuple(frames), said=here
    )


def _cut(at: int, here: int, named: str, frames: list[Frame]) -> Block | None:
    """A traceback whose end is missing: its header still tells the type."""
    if named and frames:
        return Block(at, here, named, "", tuple(frames))
    return None


def _frames(texts: list[str], at: int, named: str, docs: re.Match[str] | None) -> tuple[list[Frame], int]:
    """All frames from line `at` on, and the index of the first line that belongs to none."""
    here = at + 1 if named or docs else at
    done: list[Frame] = []
    open_: _Open | None = None
    if docs and (place := _place(docs["place"])):
        open_ = _Open(place["file"], int(place["line"] or 0), place["function"] or "")
    gap = 0
    while here < min(len(texts), at + _LONGEST) and gap < _GAP:
        text = texts[here]
        arrow = _ARROW.match(text) if len(text) <= LONGEST else None
        place = None if arrow else _place(text)
        if place:
            done += [open_.done()] if open_ else []
            open_ = _Open(place["file"], int(place.groupdict().get("line") or 0), place["function"] or "")
        elif arrow:
            open_ = open_ or _Open("", 0, "")
            open_.line = int(arrow["line"] or 0) or open_.line
            open_.code = open_.code or arrow["code"] or ""
        elif SURE.match(text.strip()) or connective(text) or "Traceback (most" in text or _repeats(text, named):
            break
        gap = 0 if place or arrow else gap + 1
        here += 1
    if gap >= _GAP:
        here -= gap
    return done + ([open_.done()] if open_ else []), here


def _repeats(text: str, named: str) -> bool:
    """Whether a line is the exception's own, which repeats the header's name."""
    return bool(named) and text.strip().startswith(named) and bool(_named(named).match(text.strip()))


def _place(text: str) -> re.Match[str] | None:
    if len(text) > LONGEST or not (" in " in text or "File " in text or " In" in text):
        return None
    return next((found for pattern in _PLACES if (found := pattern.match(text))), None)


def _said(texts: list[str], here: int, named: str) -> tuple[re.Match[str], int] | None:
    """The exception's own line at or shortly after `here`; it repeats the header's name where there is one."""
    for ahead in range(here, min(len(texts), here + 3)):
        text = texts[ahead].strip()
        match = SURE.match(text) or (_named(named).match(text) if named else None)
        if match:
            return (match, ahead) if not named or match["type"].rsplit(".", 1)[-1] == named.rsplit(".", 1)[-1] else None
        if text:
            return None
    return None


def _named(name: str) -> re.Pattern[str]:
    return re.compile(rf"^(?P<type>{re.escape(name)})(?:: ?(?P<message>.*))?$", re.DOTALL)
