"""Where in the program's own source something happens, and whether an edit stands there."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from explainer.diagnosis import Edit

#: Where the watched functions stand.
HERE = os.path.dirname(__file__) + os.sep
Lines = Mapping[str, Sequence[Sequence[int]]]


def lines_after(edits: Sequence[Edit], folder: str) -> dict[str, list[list[int]]]:
    """By path below the folder, the first and last lines that edits have once they are made."""
    found: dict[str, list[list[int]]] = {}
    for edit in edits:
        above = [one for one in edits if one.file == edit.file and one.start_line < edit.start_line]
        first = edit.start_line + sum(_growth(one) for one in above)
        below = os.path.relpath(os.path.realpath(edit.file), os.path.realpath(folder))
        found.setdefault(below, []).append([first, first + max(0, _length(edit) - 1)])
    return found


def _length(edit: Edit) -> int:
    return 0 if edit.after is None else edit.after.count("\n") + 1


def _growth(edit: Edit) -> int:
    return _length(edit) - (edit.end_line - edit.start_line + 1)


class Places:
    """The program's frames, as they stand in one run, and the lines that were edited for it."""

    def __init__(self, folder: str, edited: Lines):
        self.folder = folder + os.sep
        self.edited = edited
        self.over = False
        self._put: list[tuple[Any, str, Any]] = []

    def put(self, owner: Any, name: str, watched: Any) -> None:
        """Put a watched function in the place of one, until `restore`."""
        self._put.append((owner, name, getattr(owner, name)))
        setattr(owner, name, watched)

    def restore(self) -> None:
        """Put back all that was put: what compiles a program's functions looks for torch's own."""
        while self._put:
            setattr(*self._put.pop())

    def innermost(self) -> Any:
        """The program's innermost frame; None where it is not at work."""
        frame: Any = sys._getframe(1)
        while frame is not None and not frame.f_code.co_filename.startswith(self.folder):
            frame = frame.f_back
        return frame

    def at(self, frame: Any) -> tuple[str, int]:
        """A frame's file below the folder, and its line."""
        return frame.f_code.co_filename[len(self.folder) :], frame.f_lineno

    def edits(self, file: str, line: int) -> bool:
        """Whether a line was edited."""
        return any(first <= line <= last for first, last in self.edited.get(file, ()))

    def edited_text(self) -> str:
        """The lines that edits have made, as they stand in this run."""
        found = []
        for file, rows in self.edited.items():
            with open(self.folder + file, encoding="utf-8", errors="replace") as text:
                lines = text.read().split("\n")
            found += [line for first, last in rows for line in lines[first - 1 : last]]
        return "\n".join(found)

    def caller(self) -> Any:
        """The program's frame that called a watched function itself; None where a library did."""
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(HERE):
            frame = frame.f_back
        own = frame is not None and frame.f_code.co_filename.startswith(self.folder)
        return frame if own else None

    def is_edited(self) -> bool:
        """Whether a watched function was called by the program itself, at a line that was edited."""
        frame = self.caller() if self.edited and not self.over else None
        return frame is not None and self.edits(*self.at(frame))

    def failed_at(self, error: BaseException) -> list[Any] | None:
        """File and line in the program where an error came up."""
        found, trace = None, error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename.startswith(self.folder):
                found = [trace.tb_frame.f_code.co_filename[len(self.folder) :], trace.tb_lineno]
            trace = trace.tb_next
        return found
