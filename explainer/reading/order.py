"""Puts the errors of a text in the order in which a person should read them, the same error only once."""

from __future__ import annotations

import itertools
import re

from explainer.crash import Found, Raised, Remark
from explainer.frozen import frozen, replace
from explainer.patterns import Pattern
from explainer.reading.chains import Joined

#: Errors of a rank that only says that another one is gone.
_FOLLOWERS = Pattern(
    r"Connection (?:closed by peer|reset by peer|refused)|Broken pipe|[Ww]atchdog caught collective|"
    r"collective operation timeout|Timed out (?:waiting|initializing)|timeout: \d+|ncclRemoteError"
    r"|remote process exited|"
    r"heartbeat|Socket Timeout|store.*(?:timed out|timeout)|Stop_waiting|exited unexpectedly|died with <Signals|"
    r"returned non-zero exit status|Engine core initialization failed|process \d+ terminated with",
    re.IGNORECASE,
)
_CALLED = Pattern(
    r"^(?:ChildFailedError|CalledProcessError|SignalException|KeyboardInterrupt|BrokenPipeError|EOFError)$"
)


_TESTS = Pattern(r"^={3,} (?:FAILURES|ERRORS|test session starts) ={3,}$")
_POST = Pattern(
    r"^\s*(?:```|~~~|</?(?:details|pre|code|summary|blockquote))|\bwrote:?\s*$|^#{1,6} |^-{2,} ?Original"
    r"|^On .{4,80} wrote"
)
_INTRODUCES = Pattern(
    r"^\s*(?:Exception in thread|Exception ignored|Process \S+:|Original |Traceback|[\W_]+$)|\b(?:ERROR|CRITICAL"
    r"|FATAL|[Ff]ailed)\b|^[EF]\d{4} |\[rank\d|exit code|exitcode|Warning"
)


@frozen
class Seen:
    """An error of one writer as it was found; `end` is the index of the line after it."""

    found: Found
    end: int
    writer: str
    repeated: bool = False
    launcher: bool = False
    first: bool = False
    later: bool = False
    alone: bool = False


def arrange(seen: list[Seen]) -> list[Found]:
    """The errors without repeats, the one to look at first in front."""
    if len(seen) == 1:
        return [seen[0].found]
    kept = _without_echoes(_merged(seen))
    kept.sort(key=lambda one: (_weight(one), one.later, one.found.place.line or 0))
    return [_remarked(one, kept) for one in kept]


def later_turns(texts: list[str], joined: list[Joined]) -> set[int]:
    """The indices of the errors that can wait: survived ones, and in a test run those that no code of torch raised."""
    if any(_TESTS.match(text) for text in texts):
        return {at for at, one in enumerate(joined) if not any("torch/" in place.file for place in one.raised.frames)}
    pairs = itertools.pairwise(joined)
    return {at for at, (one, after) in enumerate(pairs) if _went_on([*one.raised.notes, *texts[one.end : after.start]])}


def _went_on(between: list[str]) -> bool:
    """Whether a program printed something of its own between two errors; posts of a forum are no program."""
    said = [text for text in between if text.strip()]
    if any(_POST.match(text) for text in said):
        return False
    return any(not _INTRODUCES.search(text) for text in said)


def _merged(seen: list[Seen]) -> list[Seen]:
    """Each error once with its count; what a launcher's report repeats is the rank's own error."""
    kept: list[Seen] = []
    where: dict[tuple[str, str], list[int]] = {}
    for one in sorted(seen, key=lambda one: one.repeated):
        raised = one.found.raised
        same = where.setdefault((raised.name, _folded(raised)), [])
        at = next((at for at in same if _is_same(kept[at], one)), None)
        if at is None:
            same.append(len(kept))
            kept.append(one)
        else:
            kept[at] = _added(kept[at], one)
    return kept


def _folded(raised: Raised) -> str:
    return " ".join(raised.message.split())


def _added(kept: Seen, again: Seen) -> Seen:
    """An error with one more occurrence; what the report knows of its rank is kept."""
    found, other = kept.found, again.found
    place = found.place
    if place.rank is None and other.place.rank is not None:
        place = replace(place, rank=other.place.rank, time=place.time or other.place.time)
    count = found.count if again.repeated else found.count + 1
    return replace(kept, found=replace(found, place=place, count=count), first=kept.first or again.first)


def _is_same(kept: Seen, one: Seen) -> bool:
    a, b = kept.found.place, one.found.place
    if a.rank is not None and b.rank is not None and a.rank != b.rank:
        return False
    if a.process and b.process and a.process != b.process:
        return False
    if kept.writer != one.writer and kept.found.place.rank != one.found.place.rank and not one.repeated:
        return False
    mine, other = _places(kept.found.raised), _places(one.found.raised)
    return mine == other or (one.repeated and (mine[-len(other) :] == other or not other))


def _places(raised: Raised) -> list[tuple[str, int]]:
    return [(one.file.replace("\\", "/").rsplit("/", 1)[-1], one.line) for one in raised.frames]


def _without_echoes(seen: list[Seen]) -> list[Seen]:
    """The errors without those that torch.compile logged before it raised them inside another one's message."""
    raisers = [one.found.raised.message for one in seen if "torch._dynamo" in one.found.raised.type]
    return [
        one
        for one in seen
        if len(one.found.raised.message) < 12
        or not any(one.found.raised.message.strip() in said and one.found.raised.message != said for said in raisers)
    ]


def _weight(one: Seen) -> int:
    """0 for an error of its own, 1 for one that follows from another's failure, 2 for the launcher's."""
    raised = one.found.raised
    if one.launcher or raised.name == "ChildFailedError":
        return 3
    if one.first:
        return 0
    first = raised
    while (earlier := first.cause or first.context) is not None:
        first = earlier
    if _CALLED.match(first.name) or (_FOLLOWERS.search(first.message) and not first.embedded):
        return 2
    return 1


def _remarked(one: Seen, every: list[Seen]) -> Found:
    """The error with a word on the other ranks, on the one that failed first."""
    if one is not every[0] or one.found.place.rank is None:
        return one.found
    others = sorted(
        {other.found.place.rank for other in every if other.found.place.rank is not None} - {one.found.place.rank}
    )
    if not others:
        return one.found
    remark = Remark("rank_first", (("rank", one.found.place.rank), ("others", len(others))))
    return replace(one.found, remarks=(*one.found.remarks, remark))
