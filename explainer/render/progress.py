"""One line on a terminal that says what long work is doing, gone when it is done."""

from __future__ import annotations

import os
import time
from typing import TextIO

from explainer.render.theme import is_terminal, width_of
from explainer.render.visible import cells, cut, one_line


class Progress:
    """`with Progress(sys.stderr) as progress: progress("tried 3 of 12")`. Says nothing where no person looks.

    The first line comes after `patience` seconds, so that quick work does not flicker.
    """

    def __init__(self, stream: TextIO, patience: float = 0.5):
        self._stream = stream
        self._seen = is_terminal(stream) and os.environ.get("TERM") != "dumb"
        self._from = time.monotonic() + patience
        self._written = 0
        self._text = ""

    def __call__(self, text: str) -> None:
        """Show a text in place of the last one."""
        if self._seen and text != self._text and time.monotonic() >= self._from:
            self._text = text
            self._write(cut(one_line(text), width_of(self._stream) - 1))

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        """Take the line away."""
        if self._written:
            self._write("")

    def _write(self, text: str) -> None:
        """Write over the line, with blanks for what it had more, and leave the cursor at its start."""
        blanks = " " * max(self._written - cells(text), 0)
        self._written = cells(text)
        try:
            self._stream.write(f"\r{text}{blanks}\r")
            self._stream.flush()
        except (OSError, ValueError):
            self._seen = False
