"""The same mistake in several threads, or child processes of one program, is told once; the others say a line."""

from __future__ import annotations

import hashlib
import os
import sys
import traceback
from contextlib import suppress
from typing import Any

from explainer.hooks import job
from explainer.locale import word

#: What was told in this process so far, and by which thread.
_told: dict[str, str] = {}


def forget() -> None:
    """Begin anew: `install()` was called again."""
    _told.clear()


def known(error: BaseException, stack: Any) -> str:
    """Which thread of this process has told the same error; empty for none.

    The same error is one of the same type through the same lines.
    """
    return _told.get(_key(error, stack), "")


def claimed(error: BaseException, stack: Any) -> str:
    """Which process beside this one tells the same error, if it is one that can be told; empty where this one does."""
    child = _child()
    where = job.beside() if child else None
    if where is None:
        return ""
    path = where / f"same-{_key(error, stack)}"
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(child)
    except FileExistsError:
        with suppress(OSError):
            return path.read_text(encoding="utf-8") or "?"
    except OSError:
        pass
    return ""


def told(error: BaseException, stack: Any) -> None:
    """Remember that this thread has told an error."""
    _told[_key(error, stack)] = _name()


def line(first: str, language: str) -> str:
    """What is said in the place of the diagnosis."""
    return word("same_again", language, name=_name(), other=first)


def _key(error: BaseException, stack: Any) -> str:
    lines = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(stack)]
    return hashlib.sha256(repr((type(error).__qualname__, lines)).encode("utf-8", "replace")).hexdigest()[:16]


def _name() -> str:
    threading: Any = sys.modules.get("threading")
    if threading is not None and threading.current_thread() is not threading.main_thread():
        return str(threading.current_thread().name)
    return _child() or "MainThread"


def _child() -> str:
    """The name of this process where `multiprocessing` started it; empty for a program's own."""
    processes: Any = sys.modules.get("multiprocessing.process")
    if processes is None or processes.parent_process() is None:
        return ""
    return str(processes.current_process().name)
