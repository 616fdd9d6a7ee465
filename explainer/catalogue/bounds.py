"""How much work the words of a rule may take: everything is counted in steps, a step is about one small value.

A pack is not trusted: its templates may neither run on nor fill the memory, whatever they hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

#: Characters of a text that a template makes, and of a template; steps that one template, and all of a crash, may take;
#: steps of the largest value; items of a `range`; bits of a number.
LONGEST, WRITTEN = 20_000, 10_000
STEPS, TOGETHER = 100_000, 1_000_000
LARGEST, COUNTED, BITS = 20_000, 10_000, 4096
#: So many characters, or bits of a number, count as one step.
_CHARACTERS = 64


class WordsError(Exception):
    """Raised where a template names what is not there, or cannot be evaluated."""


class Exceeded(WordsError):
    """Raised where a template would take more work than it may."""


class Work:
    """The steps that are left for a template, and for the crash that it is about."""

    __slots__ = ("left", "together")

    def __init__(self) -> None:
        self.left, self.together = STEPS, TOGETHER


_work: ContextVar[Work | None] = ContextVar("work", default=None)


class for_crash:
    """All templates of one crash together take `TOGETHER` steps."""

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        self._token = _work.set(Work())

    def __exit__(self, *_: object) -> None:
        _work.reset(self._token)


def bounded(render: Callable[..., Any], *given: Any) -> Any:
    """What a template renders in `STEPS` steps, or in what is left for the crash."""
    work = _work.get()
    if work is None:
        with for_crash():
            return bounded(render, *given)
    if work.together <= 0:
        raise Exceeded("the templates before it took all the work that a crash is worth")
    work.left = STEPS
    try:
        return weighed(render(*given))
    finally:
        work.together -= STEPS - work.left


class of_file:
    """Name the file whose templates are evaluated in what is wrong with one of them."""

    __slots__ = ("_file",)

    def __init__(self, file: str):
        self._file = file

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, WordsError):
            raise type(error)(f"{self._file}: {error}") from None


def spend(steps: int) -> None:
    """Count steps. Raises Exceeded when none are left."""
    work = _work.get()
    if work is not None:
        work.left -= steps
        if work.left < 0:
            raise Exceeded(f"it takes more than {STEPS} steps")


def steps_of(value: Any, most: int = LARGEST) -> int:
    """What a value weighs with all that it holds, each time that it holds it. Raises Exceeded above `most`."""
    total, waiting = 0, [value]
    while waiting:
        one = waiting.pop()
        kind = type(one)
        if kind is str:
            total += 1 + len(one) // _CHARACTERS
        elif kind is int:
            total += 1 + one.bit_length() // _CHARACTERS
        elif kind in (list, tuple, set, frozenset):
            total += 1
            waiting += list(one)[: most + 1]
        elif kind is dict:
            total += 1
            waiting += [part for pair in list(one.items())[: most + 1] for part in pair]
        else:
            total += 1
        if total + len(waiting) > most + 1:
            raise Exceeded(f"it makes a value of more than {most} parts")
    return total


def weighed(value: Any) -> Any:
    """The value, its steps spent. Raises Exceeded where it is too large."""
    if type(value) is str:
        spend(1 + len(value) // _CHARACTERS)
    else:
        spend(1 if type(value) is int and -LARGEST < value < LARGEST else steps_of(value))
    return value


def lengthened(characters: int) -> None:
    """Spend what a text of so many characters costs. Raises Exceeded, before it is made, where it is too long."""
    if characters > LARGEST * _CHARACTERS // 8:
        raise Exceeded(f"it makes a text of {characters} characters")
    spend(1 + characters // _CHARACTERS)


def counted(operator: str, left: Any, right: Any) -> None:
    """Spend what an operation costs. Raises Exceeded, before it is done, where its result is too large to be meant."""
    sized = [side for side in (left, right) if isinstance(side, (str, bytes, list, tuple))]
    if operator == "%" and isinstance(left, str):
        raise WordsError("texts are put together by ~ or {{ }}, not by %")
    if operator == "*" and sized:
        times = right if sized[0] is left else left
        parts = steps_of(sized[0]) if not isinstance(sized[0], str) else 1
        if isinstance(times, int) and (len(sized[0]) * times > LONGEST or parts * times > LARGEST):
            raise Exceeded("* makes too large a value")
    elif sized:
        spend(steps_of([left, right]))
    elif operator in ("*", "**") and isinstance(left, int) and isinstance(right, int):
        times = left.bit_length() * max(right, 1) if operator == "**" else left.bit_length() + right.bit_length()
        if times > BITS:
            raise Exceeded(f"{operator} makes too large a number")
    spend(1)


def replaced(value: Any, old: Any, new: Any, *most: Any) -> str:
    """`str.replace`. Raises Exceeded, before it is done, where that makes too long a text."""
    text, old, new = map(str, (value, old, new))
    lengthened(len(text) + text.count(old) * len(new))
    return text.replace(old, new, *most)


def joined(items: Any, between: Any = "") -> str:
    """`x.shape | join(", ")` -> `4, 576`. Raises Exceeded, before it is done, where that makes too long a text."""
    texts, between = [str(one) for one in weighed(list(items))], str(between)
    lengthened(sum(map(len, texts)) + len(texts) * len(between))
    return between.join(texts)


def entries(value: Mapping[Any, Any]) -> Any:
    """A mapping's items."""
    return weighed(list(value.items()))
