"""Folders for copies of a program's files: they go with the process that made them, at the latest with the next one.

A keeper removes a folder when its owner ends, however that does. Where it is killed as well (a container that is
stopped), the lock on the folder's lease is free, and whoever makes the next folder removes it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress

from explainer.replay.confine.keeper import Keeper

_PREFIX, _LEASE = "explain-", ".explain-lease"
#: What a lease says, so that no folder of somebody else's is taken for one of ours.
_SAYS = b"Copies of a program that is being diagnosed; this folder may be removed when no process locks this file.\n"
#: Seconds that a folder must be old, for its lease may not be locked yet.
_OLD = 60.0


class Scratch:
    """A new folder. OSError where there is no room, or where there can be no more processes or descriptors."""

    def __init__(self) -> None:
        _sweep()
        self.path = tempfile.mkdtemp(prefix=_PREFIX)
        try:
            lease = _leased(self.path)
            try:
                self._keeper = Keeper(self.path, lease)
            finally:
                os.close(lease)
        except BaseException:
            with suppress(OSError):  # without a descriptor, of which there may be none left
                with suppress(FileNotFoundError):
                    os.unlink(os.path.join(self.path, _LEASE))
                os.rmdir(self.path)
            raise

    def remove(self) -> None:
        """Remove it, and wait for that."""
        self._keeper.kill()
        self._keeper.wait()


def is_scratch(path: str) -> bool:
    """Whether a path is a folder for copies, which no copy must hold: the program may lie where such folders do."""
    return os.path.lexists(os.path.join(path, _LEASE))


def _leased(folder: str) -> int:
    lease = os.open(os.path.join(folder, _LEASE), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(lease, _SAYS)
        fcntl.flock(lease, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(lease)
        raise
    return lease


def _sweep() -> None:
    """Remove folders whose keepers were killed. What is not surely one of those stays."""
    with suppress(OSError):
        for folder in list(_ours()):
            with suppress(OSError):
                _remove_left(folder)


def _ours() -> Iterator[str]:
    with os.scandir(tempfile.gettempdir()) as entries:
        named = [entry for entry in entries if entry.name.startswith(_PREFIX) and entry.is_dir(follow_symlinks=False)]
        yield from (entry.path for entry in named if entry.stat(follow_symlinks=False).st_uid == os.getuid())


def _remove_left(folder: str) -> None:
    lease = os.open(os.path.join(folder, _LEASE), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(lease)
        mine = stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid() and found.st_mtime < time.time() - _OLD
        if mine and os.read(lease, len(_SAYS) + 1) == _SAYS:
            fcntl.flock(lease, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lease)
