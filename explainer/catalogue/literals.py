"""What a pattern's text must contain literally: the runs that the index looks up before any pattern is compiled."""

from __future__ import annotations

import functools

from explainer.frozen import frozen
from explainer.patterns import Pattern

#: A pattern's characters with its alternatives chosen; a number is a place where something else may stand, and how many
#: literal characters it has at least.
Form = tuple[str | int, ...]
#: Where a word or the text begins or ends.
EDGE = "\1"
#: Alternatives multiply; where they would give more forms than this, a group counts as not literal.
MOST = 24
_WORD = Pattern(r"\w+")
_COUNT = Pattern(r"\{(\d*)(,?)(\d*)\}")
_GROUP = Pattern(r"\?(?:P?<[A-Za-z_]\w*>|:|>|[aiLmsuxbefprwVv01-]+:)")
_FLAGS = Pattern(r"\?[aiLmsuxbefprwVv01-]+\)")
_AROUND = Pattern(r"\?<?[=!]")


@frozen
class Literals:
    """The lowercased runs that a match of one form contains, in order, and how many characters they have.

    `words` are those that stand whole in a run: at its edges a word may go on, so those do not count.
    """

    runs: tuple[str, ...]
    weight: int
    words: tuple[str, ...]


@functools.lru_cache(maxsize=8192)
def literals(pattern: str) -> tuple[Literals, ...]:
    """The literal text of a pattern, for each of its alternatives. Raises ValueError where brackets do not close."""
    forms, at = _alternatives(pattern, 0)
    if at != len(pattern):
        raise ValueError(f"unbalanced ) at character {at + 1}")
    return tuple(dict.fromkeys(_of_form(form) for form in forms))


def _of_form(form: Form) -> Literals:
    text = "".join("\0" if isinstance(token, int) else token for token in form).lower()
    edged = [run for run in text.split("\0") if run]
    found = [m for run in edged for m in _WORD.finditer(run) if m.start() > 0 and m.end() < len(run)]
    runs = (run.replace(EDGE, "") for run in edged)
    return Literals(tuple(filter(None, runs)), _weight(form), tuple(m[0] for m in found if len(m[0]) > 1))


def _weight(form: Form) -> int:
    return sum(token if isinstance(token, int) else token != EDGE for token in form)


def _alternatives(pattern: str, at: int) -> tuple[list[Form], int]:
    """The forms of every branch up to the closing bracket."""
    forms = []
    while True:
        branch, at = _branch(pattern, at)
        forms += branch
        if at >= len(pattern) or pattern[at] == ")":
            return forms, at
        at += 1


def _branch(pattern: str, at: int) -> tuple[list[Form], int]:
    forms: list[Form] = [()]
    while at < len(pattern) and pattern[at] not in "|)":
        inner, at = _element(pattern, at)
        least, repeats, at = _quantifier(pattern, at)
        if least == 0:
            inner = [(0,)]
        elif len(forms) * len(inner) > MOST:
            inner = [(min(map(_weight, inner)),)]
        elif repeats:
            inner = [(*form, 0) for form in inner]
        forms = [form + other for form in forms for other in inner]
    return forms, at


def _element(pattern: str, at: int) -> tuple[list[Form], int]:
    character = pattern[at]
    if character == "\\":
        return _escape(pattern, at)
    if character == "[":
        end = _class_end(pattern, at)
        inside = pattern[at + 1 : end]
        alone = inside[-1] if len(inside.lstrip("\\")) == 1 and not inside[-1].isalnum() and inside != "^" else 0
        return [(alone,)], end + 1
    if character == "(":
        return _group(pattern, at + 1)
    return [(EDGE if character in "^$" else 0 if character == "." else character,)], at + 1


def _escape(pattern: str, at: int) -> tuple[list[Form], int]:
    if at + 1 >= len(pattern):
        raise ValueError("ends in a backslash")
    following = pattern[at + 1]
    if following == "b":
        return [(EDGE,)], at + 2
    if not following.isalnum():
        return [(following,)], at + 2
    if following in "pPgN" and pattern[at + 2 : at + 3] in ("{", "<"):
        closing = pattern.find("}" if pattern[at + 2] == "{" else ">", at)
        return [(0,)], closing + 1 if closing > 0 else len(pattern)
    return [(0,)], at + {"x": 4, "u": 6, "U": 10}.get(following, 2)


def _class_end(pattern: str, at: int) -> int:
    here = at + 1 + (pattern[at + 1 : at + 2] == "^")
    here += pattern[here : here + 1] == "]"
    while here < len(pattern) and pattern[here] != "]":
        here += 2 if pattern[here] == "\\" else 1
    if here >= len(pattern):
        raise ValueError(f"the [ at character {at + 1} does not close")
    return here


def _group(pattern: str, at: int) -> tuple[list[Form], int]:
    flags = _FLAGS.match(pattern, at)
    if flags:
        return [()], flags.end()
    around = _AROUND.match(pattern, at)
    plain = _GROUP.match(pattern, at)
    if pattern[at : at + 1] == "?" and not around and not plain:  # (?P=name), (?#...), (?(1)...): no literal in it
        return [(0,)], _closed(pattern.find(")", at), at) + 1
    prefix = around or plain
    forms, end = _alternatives(pattern, prefix.end() if prefix else at)
    end = _closed(end if end < len(pattern) else -1, at)
    return ([(0,)] if around else forms), end + 1


def _closed(end: int, opened: int) -> int:
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
