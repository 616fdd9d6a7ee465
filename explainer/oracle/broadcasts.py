"""Operands of the arithmetic that failed which an edit lets broadcast: one entry stands for all, or all meet all."""

from __future__ import annotations

import functools
import itertools
import linecache
from collections.abc import Callable, Sequence
from typing import Any

from explainer.oracle.places import Places

_SIGNS = ("add", "sub", "mul", "truediv")
_METHODS = [f"__{kind}{sign}__" for sign in _SIGNS for kind in ("", "r", "i")]
_METHODS += ["add", "sub", "mul", "div", "add_", "sub_", "mul_", "div_"]
Shape = Sequence[int]


class Broadcasts:
    """Watches arithmetic in the function that failed; `spread` is where its operands broadcast as they had not.

    `itself` is where they are one tensor now, which fits itself whatever its size.

    `failed` is its file and name, `refused` the line that failed and the shapes of its two operands, in their order:
    another line of the function may well take the mean of one and multiply it with the other.
    """

    def __init__(self, places: Places, failed: tuple[str, str], refused: tuple[str, Sequence[Shape]]):
        self.places, self.failed = places, failed
        self.line, shapes = refused
        self.refused = shapes
        self.spread: list[Any] | None = None
        self.itself: list[Any] | None = None

    def watch(self, torch: Any) -> None:
        """Put watched functions in the place of arithmetic."""
        for name in _METHODS:
            self.places.put(torch.Tensor, name, self._watched(torch.Tensor, getattr(torch.Tensor, name)))
        self.places.put(torch, "where", self._choosing(torch.Tensor, torch.where))

    def _choosing(self, kind: Any, plain: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(plain)
        def noted(*args: Any, **words: Any) -> Any:
            shapes = [one.shape for one in args if isinstance(one, kind)]
            for one, other in itertools.pairwise(shapes) if self.spread is None else ():
                self._compare(one, other)
            return plain(*args, **words)

        return noted

    def _watched(self, kind: Any, plain: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(plain)
        def noted(one: Any, other: Any, *args: Any, **words: Any) -> Any:
            if self.spread is None and isinstance(other, kind) and one.shape != other.shape:
                self._compare(one.shape, other.shape)
            elif one is other:
                self.itself = self.itself or self._there(self.places.caller())
            return plain(one, other, *args, **words)

        return noted

    def _compare(self, one: Shape, other: Shape) -> None:
        if _crossed(self.refused, one, other):
            self.spread = self.spread or self._there(self.places.caller())
        for first, second in (self.refused, self.refused[::-1]):
            kept = list(one) == list(first) and _became_one(second, other)
            if kept or (list(other) == list(second) and _became_one(first, one)):
                self.spread = self.spread or self._there(self.places.caller())

    def _there(self, frame: Any) -> list[Any] | None:
        """The place of a frame where it is that of the line that failed, or of one that was edited in its function."""
        if frame is None:
            return None
        at, code = self.places.at(frame), frame.f_code
        name = getattr(code, "co_qualname", code.co_name).rpartition("<locals>.")[2]  # from Python 3.11 on
        known = name in (self.failed[1], self.failed[1].rpartition(".")[2]) and at[0] == self.failed[0]
        there = linecache.getline(code.co_filename, at[1]).strip() == self.line or self.places.edits(*at)
        return list(at) if known and there else None


def _crossed(refused: Sequence[Shape], one: Shape, other: Shape) -> bool:
    """Whether each operand is spread along the other, and a size that the two had in common then comes twice.

    Samples would meet samples. All pairs of two sets have their features in common, which come once.
    """
    width = max(len(one), len(other))
    rows = [[*[1] * (width - len(shape)), *shape] for shape in (one, other)]
    made = [max(pair) for pair in zip(*rows, strict=True)]
    shared = {size for size in refused[0] if size > 1 and size in refused[1]}
    twice = any(made.count(size) > max(shape.count(size) for shape in refused) for size in shared)
    return twice and made not in rows


def _became_one(before: Shape, after: Shape) -> bool:
    """Whether a shape is as it was but for sizes that are 1 now, or are no more."""
    if len(after) > len(before) or list(before) == list(after):
        return False
    whole = [*[1] * (len(before) - len(after)), *after]
    return all(a == b or b == 1 for a, b in zip(before, whole, strict=True))
