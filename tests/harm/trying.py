"""Makes attempts outside of any sandbox and inside one, and tells what came of them; run as a program: of all outside.

Without pytest, so that the processes that are forked by the hundred are small.
"""

from __future__ import annotations

import codecs
import fcntl
import json
import os
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attempts_descriptors
import attempts_files
import attempts_processes
from world import World, libc

from explainer.replay.confine import compiler, landlock, sandbox, warden  # noqa: F401 - another user may not read them

ATTEMPTS: dict[str, Callable[[World], Any]] = {
    name: one
    for module in (attempts_files, attempts_descriptors, attempts_processes)
    for name, one in vars(module).items()
    if getattr(one, "__module__", "") == module.__name__ and not name.startswith("_")
}
codecs.lookup("ascii")  # another user may not read the interpreter's library either


@contextmanager
def _alone() -> Iterator[None]:
    """Let no other process of the tests try anything: a world sees the whole machine's System V objects."""
    path = Path(tempfile.gettempdir()) / f"explainer-tests-world-{os.getuid()}.lock"
    with path.open("w") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)  # of this process: what is forked does not keep it
        yield


def forked(function: Callable[[], Any], user: int | None = None) -> Any:
    """What a function returns in a fork of this process, run as a user."""
    with _alone():
        return _forked(function, user)


def _forked(function: Callable[[], Any], user: int | None) -> Any:
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


def outside(attempt: Callable[[World], Any]) -> str:
    """What comes of an attempt outside of any sandbox: "success", "refused" or "nothing"."""
    with World() as world:
        before = world.seen()
        pid = os.fork()
        if pid == 0:
            met = tried(attempt, world)
            os._exit(0 if met is True else 1 if met is False else 2)
        ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if ended == 0 or any(changes(before, world.seen()) or time.sleep(0.02) for _ in range(10)):  # some come late
            return "success"
        return "nothing" if ended == 1 else "refused"


def inside(names: list[str], version: int, **allowed: Any) -> dict[str, Any]:
    """What attempts met in a sandbox with a version of Landlock (`met`), and what differs in the world (`changed`)."""
    landlock.abi = lambda: version
    with World() as world:
        before = world.seen()
        if allowed:
            allowed["writable"] = [str(world.copy)]
        outcome = sandbox.run(lambda: {name: tried(ATTEMPTS[name], world) for name in names}, deadline=60.0, **allowed)
        assert outcome.failed is None, outcome.failed
        time.sleep(0.02)  # what is typed into a terminal comes late
        return {"met": outcome.value, "changed": changes(before, world.seen())}


if __name__ == "__main__":
    same = forked(lambda: outside(lambda world: None))
    results = {name: forked(lambda: outside(ATTEMPTS[name])) for name in ATTEMPTS}  # noqa: B023 - called at once
    print(json.dumps([same, results]))
