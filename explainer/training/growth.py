"""What grows with every step: losses of earlier steps that are still held, with the graphs that made them."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from typing import Any

import torch

from explainer.training.sites import user_frames
from explainer.userframes import is_user_file

#: The last backward after which this is looked at.
LAST = 128
#: The batch of a pass without any backward at which its sums are looked at; how many graphs they must hold.
BATCH, _FEWEST = 24, 12
#: Entries of a list that is looked through at most.
_LONGEST = 5000


def after_backward(watcher: Any, loss: Any, name: str) -> None:
    """Now and then: whether losses of earlier steps are still held, with the graphs that made them."""
    if name != "backward" or not isinstance(loss, torch.Tensor) or loss.grad_fn is None:
        return
    count = watcher.notes.counts["backward"]
    if count <= 64:
        watcher.past.append(weakref.ref(loss))
    if count in (12, 20, 28, 40, 52, 64, 128):
        for frame in user_frames(sys._getframe(3)):
            _look_for_lists(watcher, frame, loss)
    if count in (64, 128):
        alive = {id(one()) for one in watcher.past if one() is not None} - {id(loss)}
        for frame in user_frames(sys._getframe(3)):
            _look_for_graphs(watcher, frame, alive, loss)


def during_pass(watcher: Any, taken: int) -> None:
    """In an evaluation that records graphs: whether it adds up results with the graphs that made them."""
    if taken == BATCH:
        frame = next(user_frames(sys._getframe(1)), None)
        for name, value in _held(frame) if frame is not None else ():
            count = _chain(value.grad_fn) if isinstance(value, torch.Tensor) else 0
            if count >= _FEWEST:
                _keeps(watcher, frame, name, "sum", count)


def _look_for_lists(watcher: Any, frame: Any, loss: Any) -> None:
    """Lists that have held the same tensors with their graphs since an earlier look, over several steps."""
    for name, value, file in _lists(frame):
        tracked = [one for one in value if isinstance(one, torch.Tensor) and one.grad_fn is not None]
        if len(tracked) < 2 or tracked[0] is loss:
            continue
        before = watcher.lists.get(name)
        if (
            before is not None
            and before[0]() is tracked[0]
            and len(tracked) > before[1]
            and watcher.notes.steps > before[2] + 6
        ):
            kept = {"kind": "list", "count": len(tracked), "file": file, "function": frame.f_code.co_name}
            kept["number"] = all(one.numel() == 1 for one in tracked)
            watcher.kept.setdefault(name, {**kept, "line": frame.f_lineno})
        elif before is None or before[0]() is not tracked[0]:
            watcher.lists[name] = (weakref.ref(tracked[0]), len(tracked), watcher.notes.steps)


def _lists(frame: Any) -> Iterator[tuple[str, list[Any], str]]:
    """The lists that a frame knows by name, or that an object of a class of the program holds, and the file of each."""
    for name, value in list(frame.f_locals.items()):
        if isinstance(value, list) and 1 < len(value) <= _LONGEST:
            yield name, value, frame.f_code.co_filename
        module = sys.modules.get(type(value).__module__)
        file = getattr(module, "__file__", None)
        if file is None or not is_user_file(file) or not hasattr(value, "__dict__"):
            continue
        for attribute, held in list(vars(value).items()):
            if isinstance(held, list) and 1 < len(held) <= _LONGEST:
                yield f"self.{attribute}", held, file


def _look_for_graphs(watcher: Any, frame: Any, alive: set[int], loss: Any) -> None:
    """The names of a frame that hold many past losses, or a sum of them that can still be differentiated."""
    for name, value in _held(frame):
        inner = list(value) if isinstance(value, list) else []
        many = sum(1 for one in inner if id(one) in alive)
        deep = (
            isinstance(value, torch.Tensor)
            and value is not loss
            and value.grad_fn is not None
            and _chain(value.grad_fn) > 30
        )
        if many > 30 or deep:
            _keeps(watcher, frame, name, "list" if many else "sum", many or _chain(value.grad_fn))


def _keeps(watcher: Any, frame: Any, name: str, kind: str, count: int) -> None:
    """Note what a frame keeps under a name; the first look at it stays."""
    code = frame.f_code
    about = {"kind": kind, "count": count, "file": code.co_filename, "function": code.co_name, "line": frame.f_lineno}
    watcher.kept.setdefault(name, about)


def _held(frame: Any) -> list[tuple[str, Any]]:
    """What a frame knows by name, and what its own object holds."""
    own = frame.f_locals.get("self")
    inner = vars(own).items() if hasattr(own, "__dict__") else ()
    return [*frame.f_locals.items(), *((f"self.{name}", value) for name, value in inner)]


def _chain(node: Any) -> int:
    """How many additions hang on each other behind a sum."""
    count = 0
    while node is not None and "Add" in type(node).__name__ and count < 1000:
        count += 1
        node = next(
            (child for child, _ in node.next_functions if child is not None and "Add" in type(child).__name__), None
        )
    return count
