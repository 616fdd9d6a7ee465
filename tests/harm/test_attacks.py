"""Attempts to get out of the sandbox of a replay: none may change a thing, whatever the kernel's Landlock can do.

Each is first made outside, alone, and must succeed there (where it may): one that changes nothing proves nothing.
"""

from __future__ import annotations

import codecs
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any

import pytest

if not sys.platform.startswith("linux"):
    pytest.skip("the sandbox is Linux's", allow_module_level=True)

import attempts_files
import attempts_processes
from world import World, libc

from explainer.replay import compiler, confine, landlock, sandbox, warden  # noqa: F401 - another user may not read them

pytestmark = pytest.mark.skipif(sandbox.unavailable() is not None, reason=f"no sandbox: {sandbox.unavailable()}")

ATTEMPTS: dict[str, Callable[[World], Any]] = {
    name: one
    for module in (attempts_files, attempts_processes)
    for name, one in vars(module).items()
    if getattr(one, "__module__", "") == module.__name__ and not name.startswith("_")
}
#: Errors by which the kernel says that this user, or this machine, may not or cannot.
NOBODY = 65534
NEWEST = landlock.abi()
codecs.lookup("ascii")  # another user may not read the interpreter's library either


def forked(function: Callable[[], Any], user: int | None = None) -> Any:
    """What a function returns in a fork of this process, run as a user."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reading)
            os.setpgid(0, 0)
            if user is not None:
                os.setgroups([])
                os.setresgid(user, user, user)
                os.setresuid(user, user, user)
                libc.prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: it may look at itself through /proc
            answer: Any = {"value": function()}
        except BaseException:
            answer = {"failed": traceback.format_exc()}
        os.write(writing, json.dumps(answer).encode())
        os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as file:
        answer = json.load(file)
    os.waitpid(pid, 0)
    assert "failed" not in answer, answer["failed"]
    return answer["value"]


def tried(attempt: Callable[[World], Any], world: World) -> Any:
    """True where an attempt saw its own success, else what it met, in one line; at most two seconds."""
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError))
    signal.setitimer(signal.ITIMER_REAL, 2)
    try:
        return attempt(world) is True
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def changes(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """What differs."""
    return {name: [before.get(name), after.get(name)] for name in before | after if before.get(name) != after.get(name)}


def outside(attempt: Callable[[World], Any]) -> str | None:
    """Why an attempt does not succeed outside of any sandbox; None where it does."""
    with World() as world:
        before = world.seen()
        pid = os.fork()
        if pid == 0:
            met = tried(attempt, world)
            os._exit(0 if met is True else 1 if met is False else 2)
        _, status = os.waitpid(pid, 0)
        if os.waitstatus_to_exitcode(status) == 0 or changes(before, world.seen()):
            return None
        return "refused" if os.waitstatus_to_exitcode(status) == 2 else "nothing happened"


def inside(version: int, **allowed: Any) -> dict[str, Any]:
    """What all attempts met in a sandbox (`met`) and what differs then in the world (`changed`)."""
    landlock.abi = lambda: version
    with World() as world:
        before = world.seen()
        if allowed:
            allowed["writable"] = [str(world.copy)]
        outcome = sandbox.run(
            lambda: {name: tried(one, world) for name, one in ATTEMPTS.items()}, deadline=60.0, **allowed
        )
        assert outcome.failed is None, outcome.failed
        return {"met": outcome.value, "changed": changes(before, world.seen())}
