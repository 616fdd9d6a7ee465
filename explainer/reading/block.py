"""What every format yields, and the two lines that most of them share: the frame's and the exception's."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from explainer.crash import Frame, Raised
from explainer.frozen import frozen
from explainer.patterns import Pattern
from explainer.userframes import is_user_file

#: Longest line that is looked at; what is longer is a dump of data.
LONGEST = 4000


@frozen
class Block:
    """One exception as printed: lines `start`..`end` (0-based, the end exclusive), `said` is its own line.

    `type` is "" where the text broke off before the exception's line. `members` are the exceptions of a group,
    `earlier` the one that led to it where the format has already joined them.
    """

    start: int
    end: int
    type: str
    message: str
    frames: tuple[Frame, ...] = ()
    notes: tuple[str, ...] = ()
    said: int = -1
    members: tuple[Raised, ...] = ()
    indent: int = 0
    earlier: Raised | None = None


def frame(file: str, line: int | str, function: str = "", code: str = "") -> Frame:
    """A frame with its library decided."""
    return Frame(file.strip(), int(line), function.strip(), code.strip(), is_user_file(file.strip()))


@dataclass
class Lines:
    """The lines of one writer of a text, dressing taken off, with the 1-based line of the input that each came from."""

    texts: list[str]
    numbers: list[int]
    writer: str = ""
    prefixes: dict[int, str] = field(default_factory=dict)

    def number(self, at: int) -> int:
        """The input's line of the line `at`; the last one's beyond the end."""
        return self.numbers[min(at, len(self.numbers) - 1)] if self.numbers else 1


#: What the last name of an exception looks like where nothing else tells that it is one.
KIND = (
    r"(?:[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit|Iteration|Group|Timeout|Unsupported|Failure|Fault|"
    r"Failed|Refused|NotFound|Empty|Full|Invalid|Abort|Node)|Unsupported|Timeout|Empty|Full|Exit|Abort)"
)
_DOTS = r"(?:[A-Za-z_]\w*\.|<\w+>\.){0,12}"
#: An exception's own line: dotted name, then the message after a colon, or nothing.
SAID = Pattern(rf"^(?P<type>{_DOTS}[A-Za-z_]\w*(?:\([\w.]{{1,60}}\))?)(?:: ?(?P<message>.*))?$", re.DOTALL)
#: The same where the name must speak for itself.
SURE = Pattern(rf"^(?P<type>{_DOTS}{KIND}(?:\([\w.]{{1,60}}\))?)(?:: ?(?P<message>.*))?$", re.DOTALL)
HEADER = Pattern(r"(?:^|[\s:>|\"'\]])(?:Original )?Traceback(?: \(most recent call (?:last|first)\))?:\s*$")
CONNECTIVES = (
    ("cause", Pattern(r"^\s*The above exception was the direct cause of the following exception:?\s*$")),
    (
        "context",
        Pattern(r"^\s*(?:During handling of|While handling) the above exception, another exception occurred:?\s*$"),
    ),
)
_FRAME = Pattern(
    r'^(?P<indent>\s*)(?:> )?File "(?P<file>.{1,2000})", line (?P<line>\d{1,9})(?:, in ?(?P<function>.*))?$'
)
_PLAIN = Pattern(
    r"^(?P<indent>\s*)File (?P<file>[^\"\s][^\"]{0,2000}?):(?P<line>\d{1,9})(?: in (?P<function>.{0,200}))?$"
)
_CELL = Pattern(
    r"^(?P<indent>\s*)(?P<file>Cell In ?\[\d+\]"
    r"|Input In \[\d+\]), (?:line )?(?P<line>\d{1,9})(?:,? in (?P<function>.{0,200}))?$"
)


def frame_line(text: str) -> re.Match[str] | None:
    """The match of a frame's line (groups indent, file, line, function), also as IPython's plain mode has it."""
    if len(text) > LONGEST:
        return None
    if "File" in text:
        return _FRAME.match(text) or _PLAIN.match(text)
    return _CELL.match(text) if " In" in text else None


def indent_of(text: str) -> int:
    """Number of leading blanks, a tab counted as one."""
    return len(text) - len(text.lstrip())


def connective(text: str) -> str | None:
    """`cause` or `context` where the line joins two exceptions."""
    if "exception" not in text:
        return None
    return next((relation for relation, pattern in CONNECTIVES if pattern.match(text)), None)
