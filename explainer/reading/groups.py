"""Exception groups: the tree that Python draws with `|` and `+---- 1 ----`, taken apart into its branches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from explainer.crash import Raised
from explainer.patterns import Pattern
from explainer.reading.block import Block

_START = Pattern(r"^\s*\+ Exception Group Traceback \(most recent call last\):\s*$")
_BRANCH = Pattern(r"^(?P<blank>\s*(?:\+-)?)\+-{4,} (?:\d+|\.\.\.) -{4,}\s*$")
_CLOSE = Pattern(r"^(?P<blank>\s*)\+-{10,}\s*$")
_BODY = Pattern(r"^(?P<blank>\s*)[|+](?: (?P<text>.*))?$")

#: The longest tree that is read, in lines.
_LONGEST = 5000


@dataclass
class _Branch:
    """The lines of one exception of the tree and the branches below it; `column` is where its bar stands."""

    column: int
    texts: list[str] = field(default_factory=list)
    branches: list[_Branch] = field(default_factory=list)


def starts(text: str) -> bool:
    """Whether an exception group's traceback begins on this line."""
    return "Exception Group" in text and bool(_START.match(text))


def read(texts: list[str], at: int, inner: Callable[[list[str]], Raised | None]) -> Block | None:
    """The group that begins on line `at`; `inner` reads the lines of one branch."""
    branches, end = _branches(texts, at)
    raised: dict[int, Raised | None] = {}
    for branch in reversed(branches):
        one = inner(branch.texts)
        members = tuple(found for below in branch.branches if (found := raised[id(below)]) is not None)
        raised[id(branch)] = replace(one, members=members) if one and members else one
    top = raised[id(branches[0])]
    if top is None:
        return None
    return Block(
        at, end, top.type, top.message, top.frames, top.notes, members=top.members, earlier=top.cause or top.context
    )


def _branches(texts: list[str], at: int) -> tuple[list[_Branch], int]:
    """All branches in the order of the text, the trunk first, and the index after the tree."""
    trunk = _Branch(texts[at].index("+"))
    every, open_ = [trunk], [trunk]
    here = at
    while here < min(len(texts), at + _LONGEST):
        text = texts[here]
        new, close, body = _BRANCH.match(text), _CLOSE.match(text), _BODY.match(text)
        mark = new or close or body
        if mark is None:
            here = _over_blanks(texts, here)
            if here == len(texts) or not _BODY.match(texts[here]):
                break
            continue
        column = len(mark["blank"])
        if new:
            open_ = [one for one in open_ if one.column < column] or [trunk]
            branch = _Branch(column)
            open_[-1].branches.append(branch)
            every.append(branch)
            open_.append(branch)
        elif close and not new:
            open_ = [one for one in open_ if one.column < column] or [trunk]
        else:
            open_ = [one for one in open_ if one.column <= column] or [trunk]
            open_[-1].texts.append(mark["text"] or "")
        here += 1
    return every, here


def _over_blanks(texts: list[str], here: int) -> int:
    """The index of the first line that is not blank, a few lines on at most; the end where there is none."""
    return next((at for at in range(here, min(len(texts), here + 4)) if texts[at].strip()), len(texts))
