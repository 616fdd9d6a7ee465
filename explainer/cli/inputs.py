"""What `explain FILE...` reads: files, folders of logs, patterns, standard input; packed or not."""

from __future__ import annotations

import glob
import importlib
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from explainer.cli import COMMANDS, Complaint

#: What counts as a log in a folder; a file that is named itself may be called anything.
SUFFIXES = (".log", ".txt", ".out", ".err", ".ipynb", ".jsonl", ".json", ".gz", ".xz", ".bz2", ".zst")
#: Endings of packed files, and the modules that unpack them.
PACKED = {".gz": "gzip", ".xz": "lzma", ".bz2": "bz2", ".zst": "zstd"}
#: What zlib, lzma and the modules for zstd raise where a file is broken.
_BROKEN = ("error", "LZMAError", "ZstdError")
#: Unpacked, a file may have so many times its bytes, `LEAST` in any case and never more than `MOST`: logs shrink to a
#: tenth or a fiftieth, zeros to a thousandth or less. Unpacking takes no more than `MEMORY` bytes.
RATIO, LEAST, MOST, MEMORY = 100, 256 << 20, 16 << 30, 256 << 20
#: Folders that hold no logs of the user's.
SKIPPED = {".git", "__pycache__", "node_modules", ".venv", "venv", "site-packages"}
#: How many bytes tell whether a file is text.
_HEAD = 8192
STDIN = "-"
_HOW_TO_END = "Paste a traceback or an error message, then press {} on a line of its own."


def named(word: str) -> list[str]:
    """The inputs that one word of the command line names; a `Complaint` where it names none."""
    if os.path.isdir(word):
        return _logs(word)
    if word == STDIN or os.path.exists(word):
        return [word]
    if glob.has_magic(word):
        return _matching(word)
    raise Complaint(missing(word))


class Input:
    """Bytes to read once, from their first one; tells afterwards whether they were nothing but blanks."""

    def __init__(self, file: BinaryIO, head: bytes = b"", name: str = STDIN, most: int | None = None):
        self._file = file
        self._head = head
        self._name, self._most = name, most
        self.blank = not head.strip()

    def read(self, size: int = -1) -> bytes:
        """The next `size` bytes, fewer only at the end."""
        head, self._head = self._head, b""
        piece = head + self._file.read(size - len(head) if size >= 0 else -1)
        if self._most is not None:
            self._most -= len(piece)
            if self._most < 0:
                raise Complaint(f"{self._name} unpacks to too much for a log; if it is one, unpack it first")
        self.blank = self.blank and not piece.strip()
        return piece


@contextmanager
def opened(name: str) -> Iterator[Input]:
    """An input, unpacked; a `Complaint` where it is no text or cannot be read, also where that shows later."""
    if name == STDIN:
        yield Input(_pasted())
        return
    try:
        with _opened(name) as file:
            head = file.read(_HEAD)
            if is_binary(head):
                raise Complaint(f"{name} is no text; explain reads logs, notebooks and pasted tracebacks")
            yield Input(file, head, name, _most_of(name))
    except EOFError:
        raise Complaint(f"{name} cannot be unpacked: it ends too early") from None
    except OSError as error:
        raise Complaint(f"{name} cannot be read: {error.strerror or error}") from None
    except Exception as error:
        if type(error).__name__ not in _BROKEN:
            raise
        raise Complaint(f"{name} cannot be unpacked: {error}") from None


def _most_of(name: str) -> int | None:
    """How many bytes a packed file may hold; None for one that is not packed."""
    if Path(name).suffix not in PACKED or not os.path.isfile(name):
        return None
    return min(MOST, max(LEAST, RATIO * os.path.getsize(name)))


def size_of(name: str) -> int | None:
    """The number of bytes to be read; None for what is packed or comes through a pipe."""
    if name == STDIN or not os.path.isfile(name) or Path(name).suffix in PACKED:
        return None
    return os.path.getsize(name)


def is_binary(data: bytes) -> bool:
    """Whether bytes are no text in any encoding: zeros that are not UTF-16's, or mostly control characters.

    A log that a crash or a full disk left zeros in is text all the same.
    """
    head = data[:_HEAD]
    if b"Traceback (most recent call last)" in data.replace(b"\0", b""):
        return False
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or not head:
        return False
    zeros = head.count(0)
    wide = max(head[::2].count(0), head[1::2].count(0)) > 0.3 * len(head)
    if zeros and not wide and zeros > 0.001 * len(head):
        return True
    controls = sum(byte < 32 and byte not in (8, 9, 10, 12, 13, 27) for byte in head)
    return not wide and controls > 0.1 * len(head)


def _pasted() -> BinaryIO:
    if sys.stdin is None:
        return io.BytesIO()
    if sys.stdin.isatty():
        print(_HOW_TO_END.format("Ctrl-Z and Enter" if sys.platform == "win32" else "Ctrl-D"), file=sys.stderr)
    return sys.stdin.buffer


def _opened(name: str) -> BinaryIO:
    suffix = Path(name).suffix
    if suffix == ".zst":
        return _zstd(name).open(name, "rb")
    if suffix == ".xz":
        return io.BufferedReader(_Xz(open(name, "rb")))
    module = PACKED.get(suffix)
    return importlib.import_module(module).open(name) if module else open(name, "rb")


class _Xz(io.RawIOBase):
    """A file of xz streams, as `lzma.open` reads it, but that a stream cannot ask for gigabytes to unpack into."""

    def __init__(self, file: BinaryIO):
        self._file, self._stream = file, _xz_stream()

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()

    def readinto(self, into: Any) -> int:
        while True:
            if self._stream.eof:
                more = self._stream.unused_data.lstrip(b"\0") or self._file.read(1 << 16).lstrip(b"\0")
                if not more:
                    return 0
                self._stream = _xz_stream()
            else:
                more = self._file.read(1 << 16) if self._stream.needs_input else b""
                if self._stream.needs_input and not more:
                    raise EOFError
            piece = self._stream.decompress(more, max_length=len(into))
            if piece:
                into[: len(piece)] = piece
                return len(piece)


def _xz_stream() -> Any:
    import lzma

    return lzma.LZMADecompressor(memlimit=MEMORY)


def _zstd(name: str) -> Any:
    """Whichever module for zstd there is: Python has one from 3.14 on."""
    for module in ("compression.zstd", "backports.zstd", "zstandard", "pyzstd"):
        try:
            return importlib.import_module(module)
        except ImportError:
            continue
    raise Complaint(f"{name} is packed with zstd, which needs `pip install zstandard` (or zstd -dc ... | explain)")


def _logs(folder: str) -> list[str]:
    found = []
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(one for one in folders if one not in SKIPPED)
        paths = [os.path.join(where, one) for one in sorted(files) if one.endswith(SUFFIXES)]
        found += [path for path in paths if os.path.isfile(path)]
    if not found:
        raise Complaint(f"the folder {folder} holds no logs ({', '.join(f'*{suffix}' for suffix in SUFFIXES)})")
    return found


def _matching(pattern: str) -> list[str]:
    found = sorted(one for one in glob.glob(pattern, recursive=True) if os.path.isfile(one))
    if not found:
        raise Complaint(f"no file matches {pattern}")
    return found


def missing(word: str) -> str:
    """What to say of a word that is neither file nor command."""
    if os.sep in word or "." in word:
        return f"there is no file {word}"
    import difflib

    near = difflib.get_close_matches(word, COMMANDS, 1)
    hint = f"; did you mean `explain {near[0]}`?" if near else f" (commands: {', '.join(COMMANDS)})"
    return f"there is no file and no command {word}{hint}"
