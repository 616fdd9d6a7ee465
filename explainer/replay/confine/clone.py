"""Clones of this process that run no line of Python before they are confined, and of whose end no signal tells.

`os.fork` runs the user's code where nothing is confined yet: hooks of `os.register_at_fork` (those for `before` and the
parent here), and in the child, besides hooks, finalizers of what other threads held, handlers of signals, tracers and
audit hooks. Its child sends SIGCHLD, which a handler of the user's sees and `os.wait` collects. Therefore:

- The system call clone makes the child, without an exit signal: only who waits with __WALL sees it.
- What is done to the child first is a row of calls of C functions, made ready here and run by iterators written in C:
  no bytecode is evaluated in between, and the GIL is held as in `os.fork`.
- Then PyOS_AfterFork_Child renews the GIL, locks and states of threads in each version's own way, as after `os.fork`;
  the import lock is held, as it expects. Of the hooks only those are left by which the standard library renews locks.
- The child keeps what it was made from: the collector is off, and it leaves by `os._exit`.

What glibc's fork does besides is not done: handlers of `pthread_atfork` do not run (see `confine.pools`), and a lock of
malloc's that another thread holds at that instant stays held; the deadline ends such a child.
"""

from __future__ import annotations

import _imp
import _thread
import ctypes
import functools
import gc
import operator
import os
import platform
import sys
import sysconfig
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any

Step = Callable[[], Any]

#: Numbers of clone; the order of its last two arguments differs too.
_CLONE = {"x86_64": 56, "aarch64": 220}
# linux/sched.h, linux/wait.h, linux/prctl.h
_PARENT_SETTID, _CHILD_CLEARTID, _CHILD_SETTID = 0x00100000, 0x00200000, 0x01000000
#: Waits for children whatever signal they send.
_WALL = 0x40000000
_PR_GET_TID_ADDRESS = 40
#: Whose hooks stay: they renew locks that a thread may have held.
_LOCKS = ("threading", "logging")
_NAME = ctypes.c_int(0)
#: What the child keeps that the row takes out of Python's hands.
_held: list[Any] = []

_libc: Any = ctypes.PyDLL(None, use_errno=True) if sys.platform.startswith("linux") else None


def function(name: str, result: Any, *arguments: Any) -> Any:
    """A C function of this process's libraries that is called with the GIL held, for a step."""
    found = _libc[name]
    found.restype, found.argtypes = result, arguments
    return found


def step(called: Any, *given: Any) -> Step:
    """A call to be made in a child. Its result -1 ends a row."""
    return functools.partial(called, *given)


def row(steps: Iterable[Step]) -> Step:
    """Steps as one, which ends where one of them hands back -1."""
    return _row(iter(list(steps)))


def all_of(steps: Iterable[Step]) -> Step:
    """Steps as one, none of which can fail it."""
    return step(deque, map(_call, list(steps)), 0)


def _row(steps: Iterator[Step]) -> Step:
    return step(deque, takewhile(_passed, map(_call, steps)), 0)


_call: Any = functools.partial.__call__
_passed = functools.partial(operator.ne, -1)


def unavailable() -> str | None:
    """Why this interpreter cannot be cloned, in one line; None where it can."""
    if not sys.platform.startswith("linux") or platform.machine() not in _CLONE:
        return "there is no sandbox for this system"
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "there is no sandbox for this Python (it takes CPython with its lock)"
    return None


def identity() -> int:
    """The address at which the child of this thread finds its own process id: where glibc keeps it, if that is told."""
    address = ctypes.c_void_p()
    prctl = function("prctl", ctypes.c_int, ctypes.c_int, *[ctypes.c_ulong] * 4)
    prctl(_PR_GET_TID_ADDRESS, ctypes.addressof(address), 0, 0, 0)
    if address.value and ctypes.c_int.from_address(address.value).value == _thread.get_native_id():
        return address.value
    return ctypes.addressof(_NAME)  # another libc keeps something else there


def begin(steps: Sequence[Step], work: Callable[[], Any]) -> int:
    """Clone this process; the child takes the steps, calls `work` and ends. Hands back its process id.

    A child in which a step fails (-1) ends at once. OSError where there can be no more processes.
    """
    here, told, errno = os.getpid(), ctypes.c_int(0), 0
    todo: Any = iter([*steps, *_renewed(), step(int)])
    done = [step(_syscall(), *_arguments(told)), _row(todo), step(todo.__length_hint__)]
    collects = gc.isenabled()
    gc.disable()
    _imp.acquire_lock()
    try:
        reached = len(list(takewhile(operator.not_, map(_call, done))))
        errno = ctypes.get_errno()
        if reached == len(done):
            work()
    finally:
        if os.getpid() != here:
            os._exit(1)
        _imp.release_lock()
        _held.clear()
        if collects:
            gc.enable()
    if not told.value:
        raise OSError(errno, os.strerror(errno))
    return told.value


def ended(pid: int, wait: bool = True) -> bool:
    """Whether a child of `begin` has ended, and is taken note of; with `wait`, when it has."""
    try:
        return os.waitpid(pid, _WALL | (0 if wait else os.WNOHANG))[0] == pid
    except ChildProcessError:  # a wait of the user's that asks for all there are
        return True


def _syscall() -> Any:
    return function("syscall", ctypes.c_long, *[ctypes.c_long] * 6)


def _arguments(told: ctypes.c_int) -> tuple[int, ...]:
    own = identity()
    flags = _PARENT_SETTID | _CHILD_SETTID | (_CHILD_CLEARTID if own != ctypes.addressof(_NAME) else 0)
    last = (own, 0) if platform.machine() == "x86_64" else (0, own)
    return (_CLONE[platform.machine()], flags, 0, ctypes.addressof(told), *last)


def _renewed() -> list[Step]:
    """The steps that make a clone a whole interpreter: no tracer, few hooks, locks and threads renewed.

    Then the hooks are back: what the clone forks itself needs all of them, or locks that one takes before stay taken.
    """
    after = ctypes.pythonapi["PyOS_AfterFork_Child"]
    after.restype, after.argtypes = None, ()
    known = hooks()
    few = [] if known is None else [step(list.__setitem__, known, slice(None), [one for one in known if _renews(one)])]
    _held.extend([sys.gettrace(), sys.getprofile(), list(known or ())])
    back = [] if known is None else [step(list.__setitem__, known, slice(None), list(known))]
    return [*few, step(after), step(sys.settrace, None), step(sys.setprofile, None), *back]


@functools.cache
def hooks() -> list[Any] | None:
    """The list in which CPython keeps the hooks for children; None where it is not to be found (they run confined).

    To find it takes a look at every object that there is; children of this process know it then.
    """

    def marker() -> None:
        pass

    os.register_at_fork(after_in_child=marker)
    found = [one for one in gc.get_referrers(marker) if type(one) is list and one and one[-1] is marker]
    if len(found) != 1:
        return None
    found[0].pop()
    return found[0]


def _renews(hook: Any) -> bool:
    if type(hook) is not types.FunctionType:
        return False
    return any(hook.__globals__ is getattr(sys.modules.get(name), "__dict__", None) for name in _LOCKS)
