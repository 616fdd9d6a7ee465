"""Whether a file still holds the text that the running code was compiled from: an editor may have been at it."""

from __future__ import annotations

import os
import sys
import time
import types
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.machinery import SourceFileLoader

from explainer.sized import PARSED, size_of
from explainer.userframes import user_modules

#: What loads a file as it stands; a script's module may have no loader.
_PLAIN = (SourceFileLoader, type(None))
#: What two compilations of one text share, its place in the file included.
_Print = tuple[str, int, bytes, bytes, tuple[str, ...], tuple[str, ...], tuple[str, ...]]


def changed_files(ran: Iterable[types.CodeType]) -> set[str]:
    """The user's files whose text is no longer that of the code on the stack (`ran`), or of their loaded modules.

    Only files written since this process began are looked into, and of those none whose loader rewrites what it loads
    (pytest's changes asserts).
    """
    codes: dict[str, list[types.CodeType]] = {}
    for code in ran:
        codes.setdefault(code.co_filename, []).append(code)
    rewritten: set[str] = set()
    for name, file in user_modules().items():
        if _is_newer(file) and type(getattr(sys.modules[name], "__loader__", None)) not in _PLAIN:
            rewritten.add(file)
        elif _is_newer(file):
            codes.setdefault(file, []).extend(_codes_of(sys.modules[name], file))
    return {file for file, own in codes.items() if file not in rewritten and _is_newer(file) and not _holds(file, own)}


def _is_newer(file: str) -> bool:
    try:
        return os.stat(file).st_mtime > _started()
    except (OSError, ValueError):
        return False


@lru_cache(maxsize=1)
def _started() -> float:
    """When this process began, in seconds since 1970 (`/proc/self/stat`); now where the system does not tell.

    At the end of that tick of the clock: a file is often written just before the program that it holds is started.
    """
    try:
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19]) + 1
        return time.time() - (time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, IndexError, AttributeError):
        return time.time()


def _codes_of(module: types.ModuleType, file: str) -> Iterator[types.CodeType]:
    """The code of a module's functions, and of its classes' methods."""
    for value in list(vars(module).values()):
        own = isinstance(value, type) and value.__module__ == module.__name__
        for one in vars(value).values() if own else (value,):
            if isinstance(one, types.FunctionType) and one.__code__.co_filename == file:
                yield one.__code__


def _holds(file: str, codes: Iterable[types.CodeType]) -> bool:
    """Whether the file's present text compiles to these pieces of code, at these lines; a large one is not compiled."""
    if not 0 < (size_of(file) or 0) <= PARSED:
        return False
    try:
        with open(file, "rb") as source:
            whole = compile(source.read(), file, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    known = {_print(code) for code in _nested(whole)}
    return all(_print(code) in known for code in codes)


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)


def _print(code: types.CodeType) -> _Print:
    constants = tuple(repr(one) for one in code.co_consts if not isinstance(one, (types.CodeType, frozenset)))
    lines = code.co_linetable
    return code.co_name, code.co_firstlineno, code.co_code, lines, code.co_names, code.co_varnames, constants
