"""A reshape at an edited line of a tensor that does not lie in memory as its sizes are: what it joins, or mixes."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

from explainer.oracle.places import HERE, Places

_TURNS = ("transpose", "permute", "t", "swapaxes", "swapdims", "movedim", "moveaxis")
CROSSED, TURNED = "crossed", "turned"
_RESHAPES = ("reshape", "flatten", "view", "reshape_as", "view_as")


class Joins:
    """Watches reshapes; `mixed` is the first that joins what are no neighbours, with the place of the turn before.

    What are rows of samples and of time, or of time and of samples, the other tensors tell that are joined there.
    """

    def __init__(self, places: Places):
        self.places = places
        self._mixed: dict[str, Any] | None = None
        self._met: dict[tuple[int, ...], bool] = {}  # sizes that were joined into rows; whether as they lie in memory
        self._turned: dict[int, tuple[Any, Any]] = {}
        self._strides: dict[int, tuple[Any, Any]] = {}
        self._joined: dict[int, Any] = {}

    @property
    def mixed(self) -> dict[str, Any] | None:
        """Where a reshape mixes what it is given, with the place of the `turned` one before; None: none does."""
        apart = any(one != other and sorted(one) == sorted(other) for one, other in combinations(self._met, 2))
        if apart or self._mixed is None or not self._met.get(self._mixed["rows"]):
            return self._mixed or ({"at": None, "turned": None} if apart else None)
        return None

    def watch(self, torch: Any) -> None:
        """Put watched functions in the place of those that turn, copy and reshape."""
        if not self.places.edited:
            return
        watched = [(_TURNS, self._turns), (("contiguous", "clone"), self._copies), (_RESHAPES, self._reshapes)]
        for names, note in watched:
            for owner, name in [(owner, name) for name in names for owner in (torch.Tensor, torch)]:
                if hasattr(owner, name):
                    self.places.put(owner, name, _noting(getattr(owner, name), note))

    def _turns(self, given: Any, made: Any) -> None:
        frame = self.places.caller() if len(self._turned) < 1000 else None
        if frame is not None:
            self._turned[id(made)] = made, list(self.places.at(frame))

    def _copies(self, given: Any, made: Any) -> None:
        if made is not given and self.places.is_edited():
            self._strides[id(made)] = made, given.stride()
            self._turned[id(made)] = made, self._turn(given)

    def _reshapes(self, given: Any, made: Any) -> None:
        if not self.places.is_edited():
            return
        rows = joined_first(given.shape, made.shape)
        if len(rows) > 1:
            self._met[rows] = self._met.get(rows, False) or _as_written(given.shape, given.stride())
        if self._mixed is not None:
            return
        held = self._strides.get(id(given))
        strides = held[1] if held is not None else given.stride()
        mixed, turned = mixes(given.shape, strides, made.shape), self._turn(given)
        if id(given) in self._joined and shifts(given.shape, made.shape):
            mixed = CROSSED
        if not given.is_contiguous() and made.data_ptr() != given.data_ptr() and len(self._joined) < 1000:
            self._joined[id(made)] = made
        if mixed == CROSSED or (mixed == TURNED and turned is not None):
            place = list(self.places.at(self.places.innermost()))
            self._mixed = {"at": place, "turned": turned, "rows": rows if mixed == TURNED else ()}

    def _turn(self, tensor: Any) -> Any:
        held = self._turned.get(id(tensor))
        return held[1] if held is not None else None


def _noting(plain: Callable[..., Any], note: Callable[[Any, Any], None]) -> Callable[..., Any]:
    @functools.wraps(plain)
    def noted(given: Any, *args: Any, **words: Any) -> Any:
        made = plain(given, *args, **words)
        if sys._getframe(1).f_code.co_filename.startswith(HERE):  # another observer, which looks at a value
            return made
        if hasattr(made, "stride") and hasattr(given, "stride") and not made.is_sparse:
            note(given, made)
        return made

    return noted


def mixes(before: Sequence[int], strides: Sequence[int], after: Sequence[int]) -> str | None:
    """How a reshape of a tensor that does not lie in memory as its sizes are mixes its dimensions; None: it does not.

    CROSSED: sizes are neither joined nor split but shifted across each other ([8, 12, 4] to [12, 32]); a part that is
    split off, [64, 88] to [4, 16 * 88], is not, nor is one of the last dimension beside whole rows. TURNED: the first
    dimension is joined with others in another order than they have in memory (rows of samples and of time).
    """
    if _as_written(before, strides):
        return None
    rows = [(size, stride) for size, stride in zip(before, strides, strict=True) if size > 1]
    first = True
    for group, goal in _groups(rows, after):
        if not goal:
            return CROSSED
        turned = [stride for _, stride in group] != sorted((stride for _, stride in group), reverse=True)
        sizes = [size for size, _ in group]
        shifted = len(group) > 1 and len(goal) > 1 and (sizes[0] % goal[0] or sorted(sizes) == sorted(goal))
        if turned and shifted and not _splits_last(sizes, goal):
            return CROSSED
        if turned and first and before[0] > 1:
            return TURNED
        first = False
    return None


def _splits_last(sizes: Sequence[int], goal: Sequence[int]) -> bool:
    """Whether rows are whole, with a part of their last dimension: [6, 6, 2 * 5] to [6 * 6 * 2, 5], boxes of cells."""
    inner = math.prod(goal[1:])
    return sizes[-1] % inner == 0 and inner < sizes[-1]


def _as_written(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether dimensions lie in memory in the order in which they are written."""
    known = [stride for size, stride in zip(sizes, strides, strict=True) if size > 1]
    return known == sorted(known, reverse=True)


def joined_first(before: Sequence[int], after: Sequence[int]) -> tuple[int, ...]:
    """The sizes that a reshape joins into its first one; empty where it does not."""
    group, goal = next(_groups([(size, 0) for size in before if size > 1], after), ([], []))
    return tuple(size for size, _ in group) if len(goal) == 1 else ()


def shifts(before: Sequence[int], after: Sequence[int]) -> bool:
    """Whether sizes are neither joined nor split by a reshape, but shifted across each other: [60, 20] to [240, 5]."""
    rows = [(size, 0) for size in before if size > 1]
    return any(not goal or (len(group) > 1 and len(goal) > 1) for group, goal in _groups(rows, after))


def _groups(rows: Sequence[tuple[int, int]], after: Sequence[int]) -> Iterator[tuple[list[tuple[int, int]], list[int]]]:
    """Which sizes, each with its stride, become which of those after; where they do not come out, nothing of these."""
    left, right = list(rows), [size for size in after if size > 1]
    while left and right:
        group, goal = [left.pop(0)], [right.pop(0)]
        while (entries := math.prod([size for size, _ in group])) != math.prod(goal):
            smaller = entries < math.prod(goal)
            if not (left if smaller else right):
                yield group, []
                return
            if smaller:
                group.append(left.pop(0))
            else:
                goal.append(right.pop(0))
        yield group, goal
