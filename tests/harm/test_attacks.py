"""Attempts to get out of the sandbox of a replay: none may change a thing, whatever the kernel's Landlock can do.

Each is first made outside, alone, and must succeed there (where it may): one that changes nothing proves nothing.
"""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401 - it takes a lock before each fork
import ctypes
import errno
import fcntl
import json
import mmap
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

if not sys.platform.startswith("linux"):
    pytest.skip("the sandbox is Linux's", allow_module_level=True)

from trying import ATTEMPTS, forked, inside
from world import libc

from explainer.replay.confine import landlock, sandbox
from explainer.replay.confine import process as confine

pytestmark = pytest.mark.skipif(sandbox.unavailable() is not None, reason=f"no sandbox: {sandbox.unavailable()}")

#: What is only read is held back by Landlock alone: without it a terminal and, but for root, the parent's pipes can be.
BY_LANDLOCK = {"read_what_was_typed", "empty_the_parents_pipe_by_proc"}
NOBODY = 65534
NEWEST = landlock.abi()


@pytest.fixture(scope="module")
def possible() -> list[str]:
    """The attempts that this user and this kernel let succeed outside."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, str(Path(__file__).with_name("trying.py"))]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    same, results = json.loads(done.stdout)
    assert same == "nothing", "the world changes by itself"
    without = [name for name, result in results.items() if result == "nothing"]
    assert not without, f"attempts that attempt nothing: {without}"
    return [name for name, result in results.items() if result == "success"]


def test_enough_attempts_succeed_outside(possible: list[str], record_property: Any) -> None:
    record_property("attempts that succeed outside", f"{len(possible)} of {len(ATTEMPTS)}")
    assert len(possible) >= 60


@pytest.mark.parametrize("user", [None, NOBODY], ids=["this user", "another"])
@pytest.mark.parametrize("version", range(NEWEST + 1))
@pytest.mark.parametrize("kind", ["crashed process", "copy"])
def test_no_attempt_succeeds_inside(kind: str, version: int, user: int | None, possible: list[str]) -> None:
    """In the fork of a crashed process, and where a whole program runs in a copy and may start others."""
    if user is not None and os.geteuid() != 0:
        pytest.skip("only root becomes another user")
    if kind == "copy" and not version:
        pytest.skip("a program is not run in a copy without Landlock")
    names = [name for name in possible if version or name not in BY_LANDLOCK]
    allowed = {"writable": True, "processes": True} if kind == "copy" else {}
    result = forked(lambda: inside(names, version, **allowed), user)
    assert [name for name, met in result["met"].items() if met is True] == []
    assert result["changed"] == {}


def _children_ended() -> list[Any]:
    """How children end that their parent ends, how those do that end themselves, and what is waited for after that."""
    ending = multiprocessing.get_context("fork").Process(target=abs, args=(1,))
    ending.start()
    ending.join(20)
    worker = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
    worker.start()
    worker.terminate()
    worker.join(20)
    other = subprocess.Popen(["sleep", "60"], start_new_session=True)
    other.kill()
    pid = os.fork()
    if pid == 0:
        signal.raise_signal(signal.SIGTERM)
        os._exit(3)
    own = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    ends = [ending.exitcode, worker.exitcode, other.wait(20), own]
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
    return ends


@pytest.mark.skipif(not NEWEST, reason="this kernel has no Landlock")
@pytest.mark.parametrize("version", {1, min(5, NEWEST), NEWEST})
def test_children_inside_are_ended_by_their_parents(version: int, monkeypatch: Any, tmp_path: Path) -> None:
    """Workers, subprocesses; before version 6 of Landlock a process beside the sandbox lets these signals through."""
    monkeypatch.setattr(landlock, "abi", lambda: version)
    outcome = sandbox.run(_children_ended, deadline=60.0, writable=[str(tmp_path)], processes=True)
    assert (outcome.value, outcome.failed) == ([0, -15, -9, -15], None)


@pytest.mark.skipif(not NEWEST, reason="this kernel has no Landlock")
def test_what_only_wishes_is_told_yes_and_what_is_new_is_told_that_there_is_no_such_call(tmp_path: Path) -> None:
    """A program that copies modes and times, locks its files or starts a session of its own goes on in its copy."""
    source, copied = tmp_path / "source", tmp_path / "copied"
    source.write_text("text")

    def program() -> list[Any]:
        shutil.copy2(source, copied)
        shutil.copystat(source, copied)
        copied.chmod(0o600)
        copied.touch()
        with copied.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            fcntl.lockf(file, fcntl.LOCK_EX)
            file.write(" and more")
        os.nice(1)
        subprocess.run(["true"], start_new_session=True, check=True)
        later = libc.syscall(ctypes.c_long(1000)), ctypes.get_errno()
        return [copied.read_text(), *later]

    outcome = sandbox.run(program, deadline=60.0, writable=[str(tmp_path)], processes=True)
    assert (outcome.value, outcome.failed) == (["text and more", -1, errno.ENOSYS], None)


def test_a_replay_beside_threads_or_with_memory_of_a_device_is_refused(monkeypatch: Any) -> None:
    """Nothing confines a thread that runs already, and nobody can copy a device: one line says so."""
    monkeypatch.setattr(confine, "own_mappings", lambda: (_ for _ in ()).throw(OSError("memory of a device is mapped")))
    assert sandbox.run(os.getpid).failed == "OSError: memory of a device is mapped"
    ready = threading.Event()
    monkeypatch.setattr(confine.landlock, "abi", lambda: threading.Thread(target=ready.wait, daemon=True).start() or 0)
    assert sandbox.run(os.getpid).failed == "OSError: threads run already, which nothing confines"


def test_shared_memory_holds_in_a_replay_what_it_held(tmp_path: Path) -> None:
    """Files that are open or gone, large and small, and memory without a file: read as before, written to alone."""
    maps = [mmap.mmap(-1, mmap.PAGESIZE)]
    for name, size in (("kept", mmap.PAGESIZE), ("large", 600 << 20), ("gone", mmap.PAGESIZE)):
        with (tmp_path / name).open("w+b") as file:
            file.truncate(size)
            maps.append(mmap.mmap(file.fileno(), size))
    (tmp_path / "gone").unlink()
    for number, one in enumerate(maps):
        one[:5] = b"held%d" % number

    def replay() -> list[str]:
        before = [one[:5].decode() for one in maps]
        for one in maps:
            one[:5] = b"wrote"
        return before + [one[:5].decode() for one in maps]

    outcome = sandbox.run(replay, deadline=60.0)
    assert outcome.value == [f"held{number}" for number in range(4)] + ["wrote"] * 4, outcome.failed
    assert [one[:5] for one in maps] == [b"held%d" % number for number in range(4)]
