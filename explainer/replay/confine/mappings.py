"""Memory that a child shares with its parent, made its own: what it writes there reaches no file and no process."""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import stat

from explainer.frozen import frozen

#: Bytes that are copied at most; of a file that can be opened none are.
_MOST = 512 << 20
_FIXED, _NO_RESERVE = 0x10, 0x4000  # MAP_FIXED, MAP_NORESERVE
_BOTH = mmap.PROT_READ | mmap.PROT_WRITE


@frozen
class _Area:
    """A shared mapping: a line of /proc/self/maps."""

    start: int
    size: int
    protection: int
    offset: int
    file: tuple[int, int]
    path: str


def own_mappings() -> None:
    """Put private memory of the same content in the place of all shared memory that could be written to.

    Tensors of `share_memory_`, arrays of multiprocessing, memory maps of files, whatever their protection is now.
    Raises OSError where there is too much of it. What belongs to a device is out of reach from then on.
    """
    copied, files = 0, _Files()
    for area in _shared():
        if _is_device(area.path):
            _take_away(area)
            continue
        if not _can_be_written(area) or _private(area, files):
            continue
        copied += area.size
        if copied > _MOST:
            raise OSError("more memory is shared with other processes than a replay may copy")
        _copy(area)


def _shared() -> list[_Area]:
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        rows = [line.rstrip("\n").split(None, 5) for line in maps]
    return [_area(*row) for row in rows if row[1].endswith("s")]


def _area(place: str, allowed: str, offset: str, device: str, inode: str, path: str = "") -> _Area:
    start, end = (int(one, 16) for one in place.split("-"))
    bits = (mmap.PROT_READ, mmap.PROT_WRITE, mmap.PROT_EXEC)
    protection = sum(bit for bit, flag in zip(bits, allowed[:3], strict=True) if flag != "-")
    major, minor = (int(one, 16) for one in device.split(":"))
    file = os.makedev(major, minor), int(inode)
    return _Area(start, end - start, protection, int(offset, 16), file, path.replace("\\012", "\n"))


def _is_device(path: str) -> bool:
    if not path.startswith("/dev/") or path.startswith("/dev/zero"):
        return False
    try:
        return not stat.S_ISREG(os.stat(path.removesuffix(" (deleted)")).st_mode)
    except OSError:
        return False


def _can_be_written(area: _Area) -> bool:
    """Whether the child can write here, or could once it asked; it has asked then."""
    if area.protection & _BOTH == _BOTH:
        return True
    done = _libc().mprotect(area.start, area.size, _BOTH) == 0
    return done or bool(area.protection & mmap.PROT_WRITE)


def _take_away(area: _Area) -> None:
    """Map nothing where memory of a device is: whoever touches it there ends."""
    if not _map(area, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _FIXED | _NO_RESERVE, -1, 0):
        raise OSError(ctypes.get_errno(), "memory of a device could not be put out of reach")


def _private(area: _Area, files: _Files) -> bool:
    """Map the same file again, for this process alone; False where it cannot be opened."""
    descriptor = files.opened(area)
    if descriptor is None:
        return False
    try:
        flags = mmap.MAP_PRIVATE | _FIXED | _NO_RESERVE
        return _map(area, area.protection, flags, descriptor, area.offset)
    finally:
        os.close(descriptor)


def _copy(area: _Area) -> None:
    held = ctypes.string_at(area.start, area.size)
    if not _map(area, _BOTH, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _FIXED, -1, 0):
        raise OSError(ctypes.get_errno(), "shared memory could not be made private")
    ctypes.memmove(area.start, held, area.size)
    _libc().mprotect(area.start, area.size, area.protection)


def _map(area: _Area, protection: int, flags: int, descriptor: int, offset: int) -> bool:
    return bool(_libc().mmap(area.start, area.size, protection, flags, descriptor, offset) == area.start)


class _Files:
    """The files behind mappings, by their paths or, where those are gone, by descriptors that are still open."""

    def opened(self, area: _Area) -> int | None:
        """A descriptor to read the file that is mapped; None where there is none."""
        if not area.file[1]:
            return None
        path = area.path if _file(area.path) == area.file else self._descriptors.get(area.file)
        return None if path is None else _readable(path)

    @functools.cached_property
    def _descriptors(self) -> dict[tuple[int, int], str]:
        paths = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
        return {file: path for path in paths if (file := _file(path)) is not None}


def _file(path: str) -> tuple[int, int] | None:
    """The device and the inode of a regular file."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def _readable(path: str) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None


def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return libc
