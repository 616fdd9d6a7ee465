"""Stretches without gradients that the program begins: each may be an evaluation, and some are looked at."""

from __future__ import annotations

import inspect
import os
import sys
import threading
from collections import Counter
from typing import Any

import torch

from explainer.training.sampling import sampled
from explainer.training.sites import frames

#: Where torch's own files lie: what it does without gradients, as clipping does, is no evaluation.
_TORCH = os.path.dirname(torch.__file__) + os.sep


def install(watcher: Any) -> None:
    """Watch gradients being switched off and on."""
    begun: Counter[Any] = Counter()
    for owner in (torch.no_grad, torch.inference_mode):
        watcher.patches.wrap(owner, "__enter__", watcher.after(lambda _, args, __: _enters(watcher, begun, args[0])))
        watcher.patches.wrap(
            owner, "__exit__", watcher.after(lambda *_: None, lambda args, _: _leaves(watcher, args[0]))
        )


def _enters(watcher: Any, begun: Counter[Any], entered: Any) -> None:
    if watcher.stepping or not watcher.notes.losses or threading.get_ident() != watcher.thread:
        return
    frame = sys._getframe(3)
    if _of_torch(frame):
        return
    place = _spot(frame)
    begun[place] += 1
    if sampled(begun[place]) and frames(1, 1):
        watcher.deep.wake(evaluation=entered)


def _leaves(watcher: Any, left: Any) -> None:
    watcher.deep.leaves(left)


def _of_torch(frame: Any) -> bool:
    """Whether it is torch that switches gradients off; a decorated function counts as what switches them off for it."""
    code = frame.f_code
    if code.co_name == "decorate_context":
        code = getattr(inspect.unwrap(frame.f_locals["func"]), "__code__", code)
    return str(code.co_filename).startswith(_TORCH)


def _spot(frame: Any, depth: int = 6) -> tuple[int, ...]:
    """What tells places apart at little cost: the instructions of some frames, as who calls `evaluate` counts too."""
    found = []
    while frame is not None and depth:
        found += [id(frame.f_code), frame.f_lasti]
        frame, depth = frame.f_back, depth - 1
    return tuple(found)
