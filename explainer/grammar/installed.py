"""Whether the torch that is installed has a message: how it begins is a text in its libraries or its sources.

What no table knows yet, such as the words of a version that came out after this package, is found where it is said.
"""

from __future__ import annotations

import contextlib
import functools
import glob
import importlib.util
import mmap
import os
import struct
from collections.abc import Iterator

from explainer.patterns import Pattern

#: What may be a value in a message.
_VALUE = Pattern(
    r"'[^']*'|\"[^\"]*\"|`[^`]*`|\[[^\]]*\]|\([^)]*\)|\{[^}]*\}|<[^>]*>|\d[\w.]*|\btorch\.\w+|\b(?:cpu|cuda|meta)\b"
    r"|\b(?:Float|Double|Half|BFloat16|Long|Int|Bool)\b"
)
#: Words at the end that may be a value too; so many words and characters tell at least.
_DROPPED, _WORDS, _LETTERS = 2, 3, 16
#: So many words and characters behind a value tell as much.
_WITHIN, _LONG = 4, 20
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
    """A message that has no values; how it may begin, its last words being a value too; what stands behind values."""
    first, *others = (part.strip() for part in _VALUE.split(text))
    starts = [first.rsplit(" ", count)[0].rstrip() for count in range(1 + _DROPPED)]
    starts = [one for one in starts if len(one.split()) >= _WORDS and len(one) >= _LETTERS]
    within = [one for one in others if len(one.split()) >= _WITHIN and len(one) >= _LONG]
    return (first if not others and " " in first else ""), tuple(starts), tuple(within)


@functools.lru_cache(256)
def _held(whole: str, starts: tuple[str, ...], within: tuple[str, ...]) -> bool:
    texts = _bounded(b"\0", whole, starts, within)
    return any(data.find(text, first, last) >= 0 for data, first, last in _libraries() for text in texts) or any(
        text in source
        for source in _sources()
        for quote in (b'"', b"'")
        for text in _bounded(quote, whole, starts, within)
    )


def _bounded(mark: bytes, whole: str, starts: tuple[str, ...], within: tuple[str, ...]) -> list[bytes]:
    """The bytes to look for, where `mark` stands before a text, and behind it."""
    texts = [mark + whole.encode() + mark] if whole else []
    return texts + [mark + one.encode() for one in starts] + [one.encode() for one in within]


@functools.cache
def _folder() -> str | None:
    """Where torch is installed; it is not imported for that."""
    with contextlib.suppress(ImportError, ValueError, AttributeError):
        found = importlib.util.find_spec("torch")
        return os.path.dirname(found.origin) if found is not None and found.origin else None
    return None


def _sources() -> Iterator[bytes]:
    folder = _folder()
    for file in glob.iglob(os.path.join(folder, "**", "*.py"), recursive=True) if folder else ():
        with contextlib.suppress(OSError), open(file, "rb") as source:
            yield source.read()


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
