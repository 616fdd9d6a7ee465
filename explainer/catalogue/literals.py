"""What a pattern's text must contain literally: the runs that the index looks up before any pattern is compiled."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: A place in a pattern where something not literal may stand.
Token = str | None
_WORD = re.compile(r"\w+")
_COUNT = re.compile(r"\{(\d*)(,?)(\d*)\}")
_GROUP = re.compile(r"\?(?:P?<[A-Za-z_]\w*>|:|>|[aiLmsuxbefprwVv01-]+:)")
_FLAGS = re.compile(r"\?[aiLmsuxbefprwVv01-]+\)")
_AROUND = re.compile(r"\?<?[=!]")


@dataclass(frozen=True)
class Literals:
    """The lowercased runs that every match contains, in order, and how many literal characters it has at least."""

    runs: tuple[str, ...]
    weight: int

    @property
    def words(self) -> tuple[str, ...]:
        """The words that stand whole in a run: at its edges a word may go on, so those do not count."""
        found = []
        for run in self.runs:
            found += [m.group() for m in _WORD.finditer(run) if m.start() > 0 and m.end() < len(run)]
        return tuple(word for word in found if len(word) > 1)


def literals(pattern: str) -> Literals:
    """The literal text of a pattern. Raises ValueError where its brackets do not close."""
    tokens, extra, at = _alternatives(pattern, 0)
    if at != len(pattern):
        raise ValueError(f"unbalanced ) at character {at + 1}")
    runs = "".join("\0" if token is None else token for token in tokens).split("\0")
    kept = tuple(run.lower() for run in runs if run)
    return Literals(kept, sum(map(len, kept)) + extra)


def _alternatives(pattern: str, at: int) -> tuple[list[Token], int, int]:
    """Up to the closing bracket: one branch's tokens, or a gap worth its shortest branch where there are several."""
    branches = []
    while True:
        tokens, extra, at = _branch(pattern, at)
        branches.append((tokens, extra))
        if at >= len(pattern) or pattern[at] == ")":
            break
        at += 1
    if len(branches) == 1:
        return (*branches[0], at)
    return [None], min(sum(token is not None for token in tokens) + extra for tokens, extra in branches), at


def _branch(pattern: str, at: int) -> tuple[list[Token], int, int]:
    tokens: list[Token] = []
    weight = 0
    while at < len(pattern) and pattern[at] not in "|)":
        element, extra, at = _element(pattern, at)
        least, repeats, at = _quantifier(pattern, at)
        if least == 0:
            tokens.append(None)
        else:
            tokens += [*element, *([None] if repeats else [])]
            weight += extra
    return tokens, weight, at


def _element(pattern: str, at: int) -> tuple[list[Token], int, int]:
    character = pattern[at]
    if character == "\\":
        return _escape(pattern, at)
    if character == "[":
        end = _class_end(pattern, at)
        inside = pattern[at + 1 : end]
        alone = inside[-1] if len(inside.lstrip("\\")) == 1 and not inside[-1].isalnum() and inside != "^" else None
        return [alone], 0, end + 1
    if character == "(":
        return _group(pattern, at + 1)
    return [None if character in ".^$" else character], 0, at + 1


def _escape(pattern: str, at: int) -> tuple[list[Token], int, int]:
    if at + 1 >= len(pattern):
        raise ValueError("ends in a backslash")
    following = pattern[at + 1]
    if not following.isalnum():
        return [following], 0, at + 2
    if following in "pPgN" and pattern[at + 2 : at + 3] in ("{", "<"):
        closing = pattern.find("}" if pattern[at + 2] == "{" else ">", at)
        return [None], 0, closing + 1 if closing > 0 else len(pattern)
    return [None], 0, at + {"x": 4, "u": 6, "U": 10}.get(following, 2)


def _class_end(pattern: str, at: int) -> int:
    here = at + 1 + (pattern[at + 1 : at + 2] == "^")
    here += pattern[here : here + 1] == "]"
    while here < len(pattern) and pattern[here] != "]":
        here += 2 if pattern[here] == "\\" else 1
    if here >= len(pattern):
        raise ValueError(f"the [ at character {at + 1} does not close")
    return here


def _group(pattern: str, at: int) -> tuple[list[Token], int, int]:
    flags = _FLAGS.match(pattern, at)
    if flags:
        return [], 0, flags.end()
    around = _AROUND.match(pattern, at)
    plain = _GROUP.match(pattern, at)
    if pattern[at : at + 1] == "?" and not around and not plain:  # (?P=name), (?#...), (?(1)...): no literal in it
        end = pattern.find(")", at)
        return [None], 0, _closed(pattern, end, at) + 1
    prefix = around or plain
    tokens, extra, end = _alternatives(pattern, prefix.end() if prefix else at)
    end = _closed(pattern, end if end < len(pattern) else -1, at)
    return ([None], 0, end + 1) if around else (tokens, extra, end + 1)


def _closed(pattern: str, end: int, opened: int) -> int:
    if end < 0:
        raise ValueError(f"the ( at character {opened} does not close")
    return end


def _quantifier(pattern: str, at: int) -> tuple[int, bool, int]:
    """How often at least the element before stands here, and whether it may stand more than once."""
    character = pattern[at : at + 1]
    counted = _COUNT.match(pattern, at) if character == "{" else None
    if character in ("?", "*", "+") and character:
        least, repeats, at = int(character == "+"), True, at + 1
    elif counted and (counted.group(1) or counted.group(3)):
        least, repeats, at = int(counted.group(1) or 0), True, counted.end()
    else:
        return 1, False, at
    return least, repeats, at + (pattern[at : at + 1] in ("?", "+") and at < len(pattern))
