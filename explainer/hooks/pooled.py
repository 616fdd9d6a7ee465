"""Workers of pools: a task's error travels to the parent as a text, for which the worker leaves what it knows of it.

Each text is explained once: the same mistake in other tasks costs them nothing, and a program that handles its tasks'
errors waits for no more than the first of each kind.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from explainer.arrival import when_imported
from explainer.hooks import job, process

#: What carries a task's error to the parent: it makes the text of the traceback, `tb`, and drops the frames.
_CARRIERS = (
    ("concurrent.futures.process", "_ExceptionWithTraceback"),
    ("multiprocessing.pool", "ExceptionWithTraceback"),
)
#: Errors of a chain that are looked at for such a text.
_CHAIN = 20


def watch() -> None:
    """In a child process: have the errors of a pool's tasks explained before their frames are dropped."""
    for module, name in _CARRIERS:
        when_imported(module, functools.partial(_watch, module, name))


def _watch(module: str, name: str) -> None:
    carrier: Any = getattr(sys.modules[module], name, None)
    made = getattr(carrier, "__init__", None)
    if made is None or hasattr(made, "watched"):
        return

    @functools.wraps(made)
    def init(self: Any, error: BaseException, *given: Any) -> None:
        stack = error.__traceback__
        made(self, error, *given)
        if process.settings is not None and process.inherited() and process.wanted(error):
            with suppress(Exception):
                _leave(error, stack, str(self.tb))

    init.watched = True  # type: ignore[attr-defined]
    carrier.__init__ = init


def _leave(error: BaseException, stack: Any, text: str) -> None:
    """Leave the report on an error for the parent, or wait for the worker that does so for the same text.

    A parent that got this one's error first would end the other.
    """
    where = job.beside()
    if where is None:
        return
    try:
        claim = os.open(_claim(where, text), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        _left(where, text)
        return
    with open(claim, "w", encoding="ascii") as file:
        file.write(str(os.getpid()))
    report = None
    try:
        report = _report(error, stack)
    finally:
        job.write({"folder": str(where), "time": time.time(), "report": report}, _name(text))


def _report(error: BaseException, stack: Any) -> Any:
    from explainer.hooks import showing
    from explainer.transfer import sent

    explanation = showing.explain(error, stack, process.settings or process.Settings())
    return sent(explanation.reports[0]) if explanation else None


def told(error: BaseException) -> Any:
    """In the parent: the report that a worker left for an error that came as a text; None where none did."""
    from explainer.transfer import received

    where = job.beside(os.getpid())
    left = [_left(where, text) for text in _texts(error)] if where is not None else []
    return next((received(one) for one in left if one), None)


def _left(where: Path, text: str) -> Any:
    """What a worker left for a text; one that is still at it is waited for."""
    end = time.monotonic() + process.PATIENCE
    while not (found := job.records(where, pattern=f"{_name(text)}.json")):
        if time.monotonic() > end or not _at_work(_claim(where, text)):
            return None
        time.sleep(0.02)
    return found[0]["report"]


def _at_work(claim: Path) -> bool:
    """Whether the worker that explains a text still lives."""
    try:
        number = claim.read_text(encoding="ascii")
    except OSError:
        return False
    return not number or job.lives(int(number))


def _texts(error: BaseException) -> Iterator[str]:
    from explainer.userframes import chain

    carried = (one for one in islice(chain(error), _CHAIN) if type(one).__name__.endswith("RemoteTraceback"))
    yield from map(str, carried)


def _name(text: str) -> str:
    return f"task-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}"


def _claim(where: Path, text: str) -> Path:
    return where / f"{_name(text)}.claim"
