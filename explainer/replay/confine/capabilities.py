"""Root without what makes root: a sandboxed process of root's may read every file, and no more than others do."""

from __future__ import annotations

import ctypes

_VERSION = 0x20080522  # linux/capability.h: _LINUX_CAPABILITY_VERSION_3
#: CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH: a program of root's reads files of others, and still must.
_KEPT = 1 << 1 | 1 << 2


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    """Effective, permitted and inheritable capabilities: the first 32, then the others."""

    _fields_ = (("bits", ctypes.c_uint32 * 6),)


def drop_capabilities() -> None:
    """Give up all capabilities but those to read (what may be written is for Landlock to say); OSError if that fails.

    Without them a process may not look into its parent either: not open its descriptors through /proc, for one.
    """
    libc, header, held = ctypes.CDLL(None, use_errno=True), _Header(_VERSION, 0), _Sets()
    if libc.capget(ctypes.byref(header), ctypes.byref(held)):
        raise OSError(ctypes.get_errno(), "capget failed")
    if not any(held.bits):
        return
    kept = held.bits[0] & held.bits[1] & _KEPT
    given = _Sets((ctypes.c_uint32 * 6)(kept, kept, 0, 0, 0, 0))
    if libc.capset(ctypes.byref(header), ctypes.byref(given)):
        raise OSError(ctypes.get_errno(), "capset failed")
