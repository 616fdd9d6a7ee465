"""What the smallest difference between an edit's lines and those that were there tells: numbers, names, axes put in."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from explainer.diagnosis import Edit
from explainer.frozen import frozen

_TOKEN = re.compile(r"[A-Za-z_]\w*|\d+(?:\.\d+)?|\S")
_WHOLE = re.compile(r"\d+")
_NAME = re.compile(r"[A-Za-z_]\w*")
#: Whole numbers below are dimensions, kernels and flags as often as sizes: that they stand elsewhere tells nothing.
_LEAST = 4
_AXES = ("None", "unsqueeze")


@frozen
class Diff:
    """The tokens that differ once what both sides begin and end with is taken off; `line` is that of the edit."""

    gone: tuple[str, ...]
    come: tuple[str, ...]
    edit: Edit

    @property
    def number(self) -> tuple[int, int] | None:
        """The whole number that was there and the one put in its place."""
        both = [one[0] for one in (self.gone, self.come) if len(one) == 1 and _WHOLE.fullmatch(one[0])]
        return (int(both[0]), int(both[1])) if len(both) == 2 else None


def diffs(edits: Iterable[Edit]) -> Iterator[Diff]:
    """The difference that each edit makes."""
    for edit in edits:
        old, new = _TOKEN.findall(edit.before or ""), _TOKEN.findall(edit.after or "")
        head = _common(old, new)
        tail = _common(old[head:][::-1], new[head:][::-1])
        yield Diff(tuple(old[head : len(old) - tail]), tuple(new[head : len(new) - tail]), edit)


def told(edits: Sequence[Edit], texts: Mapping[str, str], message: str) -> dict[str, float]:
    """Features of edits by what they put where. `texts`: those of the program's files, by any name."""
    found: Counter[str] = Counter()
    numbers = Counter(one for text in texts.values() for one in _WHOLE.findall(text))
    names = Counter(one for text in texts.values() for one in _NAME.findall(text))
    lines = Counter(line.strip() for text in texts.values() for line in text.splitlines())
    said = set(_WHOLE.findall(message))
    made = list(diffs(edits))
    for one in made:
        found.update(_of_number(one, numbers, said))
        found.update(_of_names(one, names))
        found["axes"] += max(sum(one.come.count(name) - one.gone.count(name) for name in _AXES) - 1, 0)
        found["header"] += bool(re.match(r"\s*(async )?def ", one.edit.before or ""))
        found["only-gone"] += bool(one.gone) and not one.come
        found["only-come"] += bool(one.come) and not one.gone
        found["line-elsewhere"] += _elsewhere(one.edit.after, lines)
        found["left-elsewhere"] += _elsewhere(one.edit.before, lines, 2)
    return {name: value / len(made) for name, value in found.items() if value}


def _of_number(one: Diff, numbers: Counter[str], said: set[str]) -> Iterator[str]:
    fresh = [token for token in one.come if _WHOLE.fullmatch(token) and token not in one.gone]
    large = [token for token in fresh if int(token) >= _LEAST]
    if large and not any(numbers[token] for token in large):
        yield "number=new"
    if any(token in said for token in large):
        yield "number=said"
    if one.number is None:
        return
    was, now = one.number
    yield "number"
    if str(was) in said:
        yield "number=was-said"
    if was > 1 and now < 2:
        yield "number=off"
    if was >= _LEAST and numbers[str(was)] > 1:
        yield "number=was-elsewhere"
    if now >= _LEAST and numbers[str(now)] > 0:
        yield "number=now-elsewhere"
    if abs(was - now) == 1:
        yield "number=by-one"


def _of_names(one: Diff, names: Counter[str]) -> Iterator[str]:
    old, new = ([token for token in side if _NAME.fullmatch(token)] for side in (one.gone, one.come))
    here = Counter(_NAME.findall(one.edit.before or ""))
    if any(names[token] <= here[token] for token in set(old) - set(new)):
        yield "gone=once"
    if any(not names[token] for token in set(new) - set(old)):
        yield "come=unknown"
    if "True" in old and ("False" in new or "None" in new):
        yield "number=off"
    whole = any(_WHOLE.fullmatch(token) for token in one.come)
    if len(old) == 1 and len(new) == 1:
        close = difflib.SequenceMatcher(None, old[0], new[0]).ratio()
        yield "renamed=alike" if close >= 0.6 else "renamed"
    if old and not new and whole:
        yield "hard-coded"
    if not old and new and any(_WHOLE.fullmatch(token) for token in one.gone):
        yield "named"
    if len(one.come) > len(one.gone) + 8:
        yield "longer"


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _elsewhere(text: str | None, lines: Counter[str], times: int = 1) -> bool:
    """Whether a line of some length stands in the program so often."""
    found = [line.strip() for line in (text or "").splitlines()]
    return len(found) == 1 and len(found[0]) > 12 and lines[found[0]] >= times
