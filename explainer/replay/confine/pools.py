"""Libraries that hand out work to threads, in a clone that has none of these: they do the work themselves.

They ask to be told of a fork by `pthread_atfork`, which a clone does not do, or (libgomp) do not survive one at all.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

#: By a part of a library's file name, the functions that say how many threads it may use (what ends in one more
#: underscore takes an address, for Fortran).
_SETTERS = {
    "openblas": [f"{before}openblas_set_num_threads{after}" for before in ("", "scipy_") for after in ("", "64_")],
    "libgomp": ["omp_set_num_threads"],
    "libiomp": ["omp_set_num_threads"],
    "libomp": ["omp_set_num_threads"],
    "libmkl_rt": ["MKL_Set_Num_Threads"],
    "libtorch_cpu": ["MKL_Set_Num_Threads_Local"],
    "libblis": ["bli_thread_set_num_threads"],
}
#: Whether OpenBLAS has threads: where it does, it waits for their end before a fork of the child's own.
_AT_WORK = "blas_server_avail"


def without_pools() -> None:
    """Make every library that is loaded work in one thread: the first that waited for others would wait for ever.

    It stays so: `torch.set_num_threads` would take down a pool, and wait for that.
    """
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        torch.get_num_threads()  # where it is asked for the first time it is set, too
        torch.set_num_threads = lambda number: None
    for path, names in _loaded():
        try:
            library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
        except OSError:
            continue
        if hasattr(library, _AT_WORK):
            ctypes.c_int.in_dll(library, _AT_WORK).value = 0
        for setter in (getattr(library, name, None) for name in names):
            if setter is not None:
                setter(1)


def _loaded() -> list[tuple[str, list[str]]]:
    """The libraries of this process that have such functions, by path."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        paths = {line[line.index("/") :].rstrip("\n") for line in maps if "/" in line and ".so" in line}
    named = ((path, os.path.basename(path)) for path in sorted(paths))
    return [(path, names) for path, name in named for part, names in _SETTERS.items() if part in name]
