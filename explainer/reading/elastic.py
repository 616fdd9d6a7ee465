"""The report of torch's launcher (torchrun): which rank failed first, and the tracebacks that it repeats."""

from __future__ import annotations

from dataclasses import replace

from explainer.frozen import frozen
from explainer.patterns import Pattern
from explainer.reading.chains import Joined

_NAME = "ChildFailedError"
_RULE = Pattern(r"^\s*={20,}\s*$")
_RANK = Pattern(r"^\s*rank\s*: (\d+) \(local_rank: \d+\)")
_TIME = Pattern(r"^\s*time\s*: (\S+)")
_ROOT = Pattern(r"^\s*Root Cause")
_LONGEST = 5000


@frozen
class Reported:
    """What the report says of one rank: the line on which it begins, and whether the launcher saw it fail first."""

    line: int
    rank: int
    time: str | None
    first: bool


@frozen
class Report:
    """A launcher's report: its error, made whole, and the ranks it names; lines `start`..`end` are all it covers."""

    joined: Joined
    start: int
    end: int
    ranks: tuple[Reported, ...]

    def rank_at(self, line: int) -> Reported | None:
        """The rank whose entry the line lies in."""
        above = [one for one in self.ranks if one.line <= line]
        return above[-1] if above else None


def report(texts: list[str], joined: Joined) -> Report | None:
    """The report that follows a launcher's error, or None where `joined` is another error."""
    if joined.raised.name != _NAME:
        return None
    said = next((at for at in range(joined.end - 1, joined.start - 1, -1) if _NAME in texts[at]), joined.start)
    start = next((at for at in range(said, min(said + 4, len(texts))) if _RULE.match(texts[at])), None)
    if start is None:
        return Report(joined, joined.start, joined.end, ())
    last = min(len(texts), start + _LONGEST)
    end = next((at + 1 for at in range(start + 1, last) if _RULE.match(texts[at])), last)
    message = "\n".join(["", *texts[start:end]])
    return Report(
        replace(joined, raised=replace(joined.raised, message=message)), start, end, _ranks(texts, start, end)
    )


def _ranks(texts: list[str], start: int, end: int) -> tuple[Reported, ...]:
    found, first, time = [], False, None
    for at in range(start, end):
        text = texts[at]
        first = first or bool(_ROOT.match(text))
        if (match := _TIME.match(text)) is not None:
            time = match[1]
        elif (match := _RANK.match(text)) is not None:
            found.append(Reported(at, int(match[1]), time, first))
    return tuple(found)
