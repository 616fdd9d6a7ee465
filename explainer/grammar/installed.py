"""Whether the torch that is installed has a message: how it begins is a text in its libraries or its sources.

What no table knows yet, such as the words of a version that came out after this package, is found where it is said.
"""

from __future__ import annotations

import contextlib
import functools
import glob
import importlib.util
import itertools
import mmap
import os
import struct
from collections.abc import Iterator
from typing import Any

from explainer.patterns import Pattern

#: What may be a value in a message.
_VALUE = Pattern(
    r"'[^']*'|\"[^\"]*\"|`[^`]*`|\[[^\]]*\]|\([^)]*\)|\{[^}]*\}|<[^>]*>|\d[\w.]*|\btorch\.\w+|\b(?:cpu|cuda|meta)\b"
    r"|\b(?:Float|Double|Half|BFloat16|Long|Int|Bool)\b"
)
#: Words at the end that may be a value too; so many words and characters tell at least.
_DROPPED, _WORDS, _LETTERS = 2, 4, 20
#: What may stand between words and a value.
_BETWEEN = b" `([=<:"
#: Messages that one process looks up; a log with more of them in doubt is hardly torch's.
_MOST = 64
_LIBRARIES = ("libtorch_cpu.so", "libtorch_python.so", "libc10.so", "libtorch_cuda.so", "libc10_cuda.so")
_looked: set[str] = set()


def has(text: str) -> bool:
    """Whether the installed torch has a message: its beginning, or a long part of it. False without torch."""
    parts = _parts(text)
    if not any(parts) or (text not in _looked and len(_looked) >= _MOST):
        return False
    _looked.add(text)
    return _held(*parts)


def _parts(text: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """A message as it is; how it may begin, its last words being a value too; what stands behind values."""
    first, *others = (part.strip() for part in _VALUE.split(text))
    starts = [first.rsplit(" ", count)[0].rstrip() for count in range(1 + _DROPPED)]
    whole = text.strip()
    return (whole if _tells(whole) else ""), tuple(filter(_tells, starts)), tuple(filter(_tells, others))


def _tells(words: str) -> bool:
    """Whether words are enough to be no chance."""
    return len(words.split()) >= _WORDS and len(words) >= _LETTERS


@functools.cache
def defines(name: str) -> bool:
    """Whether the installed torch's sources have a class of a name."""
    return any(f"class {name}(".encode() in source for _, source in sources())


@functools.lru_cache(256)
def _held(whole: str, starts: tuple[str, ...], within: tuple[str, ...]) -> bool:
    texts: Iterator[tuple[Any, int, int, tuple[bytes, ...], bytes]] = itertools.chain(
        ((*library, (b"\0",), b"\0'\"") for library in _libraries()),
        ((source, 0, len(source), (b'"', b"'"), b"{%'\"") for _, source in sources()),
    )
    for data, first, last, marks, ends in texts:
        if any(data.find(one.encode(), first, last) >= 0 for one in within):
            return True
        for mark in marks:
            if whole and data.find(mark + whole.encode() + mark, first, last) >= 0:
                return True
            if any(_begins(data, first, last, mark + one.encode(), ends) for one in starts):
                return True
    return False


def _begins(data: Any, first: int, last: int, start: bytes, ends: bytes) -> bool:
    """Whether a text begins so, and goes on with a value or not at all."""
    at = data.find(start, first, last)
    while at >= 0:
        behind = data[at + len(start) : at + len(start) + 4].lstrip(_BETWEEN)
        if behind[:1] in ends:
            return True
        at = data.find(start, at + 1, last)
    return False


@functools.cache
def _folder() -> str | None:
    """Where torch is installed; it is not imported for that."""
    with contextlib.suppress(ImportError, ValueError, AttributeError):
        found = importlib.util.find_spec("torch")
        return os.path.dirname(found.origin) if found is not None and found.origin else None
    return None


@functools.cache
def _files() -> tuple[str, ...]:
    folder = _folder()
    return tuple(glob.iglob(os.path.join(folder, "**", "*.py"), recursive=True)) if folder else ()


def sources() -> Iterator[tuple[str, bytes]]:
    """The files of the installed torch that are Python's, and what stands in them. None without torch."""
    for file in _files():
        with contextlib.suppress(OSError), open(file, "rb") as source:
            yield file, source.read()


@functools.cache
def _libraries() -> tuple[tuple[mmap.mmap, int, int], ...]:
    """Torch's libraries as they lie on disk, each with the bounds of its constants; only Linux's format is read."""
    found = []
    for name in _LIBRARIES if _folder() else ():
        with contextlib.suppress(OSError, ValueError, struct.error):
            with open(os.path.join(_folder() or "", "lib", name), "rb") as file:
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            found.append((data, *_constants(data)))
    return tuple(found)


def _constants(data: mmap.mmap) -> tuple[int, int]:
    """Where the section `.rodata` of an ELF file of 64 bits lies; nowhere in any other. Source: the ELF-64 format."""
    if data[:5] != b"\x7fELF\x02":
        return 0, 0
    (start,) = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    rows = [struct.unpack_from("<IIQQQQ", data, start + size * at) for at in range(count)]
    for name, _, _, _, offset, length in rows:
        if data[rows[names][4] + name : rows[names][4] + name + 8] == b".rodata\0":
            return offset, offset + length
    return 0, 0
