"""How long training waits for its batches, and how long the same steps take with batches that are kept in memory."""

from __future__ import annotations

import itertools
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from explainer.training.sites import user_frames

#: How many batches are kept in memory; how often it is looked where a loader is at work.
_KEPT, _OFTEN = 4, 0.004


class Waits:
    """Of one loader's passes in training: seconds waited for batches, seconds between them, how many batches."""

    def __init__(self) -> None:
        self.waited = self.worked = 0.0
        self.count = 0
        self._last = (0, 0.0)

    def batch(self, iterator: Any, began: float, ended: float, counts: bool) -> None:
        """A batch came. A pass's first tells nothing of the time, nor one that was looked at or is not for training."""
        number, before = self._last
        self._last = (id(iterator), ended if counts else 0.0)
        if counts and before and number == id(iterator):
            self.waited += ended - began
            self.worked += began - before
            self.count += 1

    @property
    def told(self) -> tuple[float, float, int]:
        """The three numbers."""
        return self.waited, self.worked, self.count


def served_from_memory() -> None:
    """In a child: have each loader that trains read a few batches, and hand them out again and again."""
    import torch
    from torch.utils.data import DataLoader

    original, kept = DataLoader.__iter__, dict[int, list[Any]]()

    def begun(self: Any) -> Any:
        if not torch.is_grad_enabled():
            return original(self)
        held = kept.setdefault(id(self), [])
        held += itertools.islice(original(self), 0 if held else _KEPT)
        return _Served(held, len(self))

    DataLoader.__iter__ = begun  # type: ignore[assignment, method-assign]


class _Served(Iterator[Any]):
    """Batches of a list, one after the other, so many in all."""

    def __init__(self, held: list[Any], count: int):
        self._batches = itertools.islice(itertools.cycle(held), count)

    def __next__(self) -> Any:
        return next(self._batches)


class Sampler:
    """In a child: at which of the program's lines it stands while it waits for a batch."""

    def __init__(self, watcher: Any):
        self.lines: Counter[tuple[str, int]] = Counter()
        self.looks = 0
        self._watcher, self._main = watcher, threading.get_ident()
        sys.setswitchinterval(1e-4)  # else it looks where the interpreter is let go of, not where the time goes
        threading.Thread(target=self._runs, daemon=True).start()

    @property
    def told(self) -> list[tuple[str, int, int]]:
        """File, line and how often it stood there."""
        return [(file, line, count) for (file, line), count in self.lines.items()]

    def _runs(self) -> None:
        while not self._watcher.stopped:
            time.sleep(_OFTEN)
            reading = self._watcher.reading
            if reading is None:
                continue
            self.looks += 1
            frame = next(user_frames(sys._current_frames().get(self._main)), None)
            if frame is not None and self._watcher.reading is reading:
                self.lines[frame.f_code.co_filename, frame.f_lineno] += 1
