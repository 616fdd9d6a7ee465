"""Runs a function in a sandboxed child in which edits are in force: a test session asks its other tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from explainer.diagnosis import Edit
from explainer.edits.lines import applied
from explainer.replay.confine import sandbox
from explainer.replay.swap import swap
from explainer.source import source_of
from explainer.userframes import user_modules


def run_edited(edits: Iterable[Edit], work: Callable[[], Any], seconds: float) -> Any:
    """What `work` returns (JSON data) with edits of loaded files in force; None where they could not be, or it died.

    Paths of edits are relative to the working directory. Nothing is run where there is no sandbox.
    """
    if sandbox.unavailable() is not None:
        return None
    return sandbox.run(partial(_child, tuple(edits), work), deadline=seconds).value


def _child(edits: tuple[Edit, ...], work: Callable[[], Any]) -> Any:
    modules = {os.path.realpath(file): file for file in user_modules().values()}
    spaces = [vars(sys.modules[name]) for name in user_modules()]
    for file in {os.path.realpath(edit.file) for edit in edits}:
        own = [edit for edit in edits if os.path.realpath(edit.file) == file]
        old = "".join(f"{line}\n" for line in source_of(modules.get(file, file)).lines)
        if file not in modules or not swap(modules[file], old, applied(old, own), spaces):
            return None
    return work()
