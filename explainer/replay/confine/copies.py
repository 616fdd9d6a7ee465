"""Copies of a program's files: small ones copied, large ones linked (the sandbox lets nobody change what is linked)."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Mapping

from explainer.replay.confine.scratch import is_scratch

_MOST_FILES = 2000
_MOST_BYTES = 32 << 20
_LARGE = 1 << 20
_SKIPPED = {".git", ".hg", "__pycache__", "node_modules", ".mypy_cache", ".pytest_cache", ".ruff_cache"}


class Copies:
    """Makes copies of a folder below a scratch folder. What is beyond the limits is linked, folders whole."""

    def __init__(self, folder: str, scratch: str, files: int = _MOST_FILES, size: int = _MOST_BYTES):
        self.folder = os.path.realpath(folder)
        self._scratch, self._limits = scratch, (files, size)

    def make(self, texts: Mapping[str, str]) -> str:
        """A new copy in which some files (relative paths) hold another text; its path.

        Raises ValueError for a path that leads out of the folder.
        """
        goal = tempfile.mkdtemp(dir=self._scratch)
        self._left = list(self._limits)
        self._fill(self.folder, goal)
        for name, text in texts.items():
            _written(goal, name, text)
        return goal

    def remove(self, folder: str) -> None:
        """Remove a copy."""
        shutil.rmtree(folder, ignore_errors=True)

    def _fill(self, folder: str, goal: str) -> None:
        for entry in _entries(folder):
            target = os.path.join(goal, entry.name)
            if entry.name in _SKIPPED or is_scratch(entry.path):
                continue
            if entry.is_dir(follow_symlinks=False) and self._small(entry.path):
                os.mkdir(target)
                self._fill(entry.path, target)
            elif entry.is_file(follow_symlinks=False) and self._affordable(_size(entry)):
                with contextlib.suppress(FileNotFoundError):  # somebody else's, gone meanwhile
                    shutil.copy2(entry.path, target)
            else:
                os.symlink(entry.path, target)

    def _affordable(self, size: int) -> bool:
        if size > _LARGE or self._left[0] <= 0 or self._left[1] < size:
            return False
        self._left = [self._left[0] - 1, self._left[1] - size]
        return True

    def _small(self, folder: str) -> bool:
        """Whether a folder is worth copying: no virtual environment, and room is left."""
        return self._left[0] > 0 and not os.path.exists(os.path.join(folder, "pyvenv.cfg"))


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """What lies in a folder; nothing where it has gone meanwhile, as others' temporary folders do."""
    try:
        return list(os.scandir(folder))
    except FileNotFoundError:
        return []


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat().st_size
    except FileNotFoundError:
        return 0


def _written(goal: str, name: str, text: str) -> None:
    path = os.path.normpath(os.path.join(goal, name))
    if not os.path.realpath(os.path.dirname(path)).startswith(os.path.realpath(goal)):
        raise ValueError(f"{name} lies outside the program")
    if os.path.islink(path):
        os.unlink(path)
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)
