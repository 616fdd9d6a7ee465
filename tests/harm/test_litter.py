"""Folders and processes of a diagnosis go with the program, however it ends."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from contextlib import suppress
from pathlib import Path

import pytest
from commands import environment

torch = pytest.importorskip("torch")

from explainer.replay import program  # noqa: E402
from explainer.replay.confine import sandbox, scratch  # noqa: E402
from explainer.replay.confine.keeper import Keeper  # noqa: E402

pytestmark = pytest.mark.skipif(
    program.unavailable(program.Program("main.py")) is not None or sandbox.unavailable() is not None,
    reason="no sandbox that leaves a folder writable",
)

#: It never ends when it is run again.
TRAIN = """
    import os, sys, time
    import explainer
    explainer.install()
    import torch
    if os.environ.get("EXPLAINER") == "0":
        open("again.txt", "w").write("x")
        time.sleep(1000)
    net = torch.nn.Linear(10, 3)
    net(torch.ones(2, 12))
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """An empty folder for temporary files, of this process too."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def processes(mark):
    """The processes that were started with a text in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark.encode() in (process / "environ").read_bytes():
                found.append(int(process.name))
    return found


def wait_for(what, seconds=60.0):
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_program_that_is_killed_while_it_is_diagnosed_leaves_nothing(number, temporary, tmp_path):
    (tmp_path / "main.py").write_text(textwrap.dedent(TRAIN))
    mark = f"explain_litter_{os.getpid()}_{number}"
    env = environment(TMPDIR=str(temporary), XDG_STATE_HOME=str(tmp_path), MARK=mark)
    with open(tmp_path / "said.txt", "w") as said:
        running = subprocess.Popen([sys.executable, "main.py"], cwd=tmp_path, env=env, stderr=said)
    wait_for(lambda: list(temporary.glob("explain-*/*/again.txt")))
    running.send_signal(number)
    assert running.wait() == -number
    wait_for(lambda: not processes(mark))
    assert not list(temporary.glob("explain-*"))


def test_without_descriptors_there_is_no_folder_and_none_stays(temporary):
    """Whatever number of them is left: each that is taken on the way is given back."""
    before, (soft, hard) = os.listdir("/proc/self/fd"), resource.getrlimit(resource.RLIMIT_NOFILE)
    free = [number for number in range(200) if str(number) not in before]
    made = []
    for left in range(9):
        resource.setrlimit(resource.RLIMIT_NOFILE, (free[left], hard))
        try:
            one = scratch.Scratch()
            one.remove()
            made.append(True)
        except OSError:
            made.append(False)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert (made[0], made[-1]) == (False, True)
    assert not list(temporary.iterdir())
    assert os.listdir("/proc/self/fd") == before


def _ended() -> int:
    """The child that `os.wait` would tell of; 0 where there is none."""
    try:
        return os.waitpid(-1, os.WNOHANG)[0]
    except ChildProcessError:
        return 0


def test_what_a_killed_keeper_left_goes_with_the_next_folder(temporary):
    """Only what nobody holds any more, and what surely is no folder of somebody else's."""
    held, other = scratch.Scratch(), temporary / "explain-mine"
    left, young, theirs = (temporary / f"explain-{name}" for name in ("left", "young", "theirs"))
    for folder in (other, left, young, theirs):
        (folder / "data").mkdir(parents=True)
    for folder in (left, young):
        (folder / scratch._LEASE).write_bytes(scratch._SAYS)
    (theirs / scratch._LEASE).write_text("notes of mine")
    for folder in (left, theirs, Path(held.path)):
        os.utime(folder / scratch._LEASE, (1, 1))
    scratch.Scratch().remove()
    assert sorted(temporary.iterdir()) == sorted([other, young, theirs, Path(held.path)])
    held.remove()
    assert not os.path.exists(held.path)


def test_a_process_that_is_started_is_no_child_of_the_program(tmp_path):
    """It has its own signals and what it was handed, ends when it is told to, and nobody hears of that."""
    reading, writing = os.pipe()
    code = "import os, signal, sys, time; print(signal.pthread_sigmask(0, []), flush=True); time.sleep(1000)"
    code = f"import os; os.dup2({writing}, 1); {code}"
    told = []
    before = signal.signal(signal.SIGCHLD, lambda *_: told.append(1))
    try:
        keeper = Keeper(
            command=[sys.executable, "-S", "-c", code], environment={"MARK": str(tmp_path)}, handed=[writing]
        )
        os.close(writing)
        assert os.read(reading, 100) == b"set()\n"
        assert len(processes(str(tmp_path))) == 1
        assert _ended() == 0
        keeper.kill()
        keeper.wait()
    finally:
        signal.signal(signal.SIGCHLD, before)
        os.close(reading)
    assert (told, processes(str(tmp_path))) == ([], [])


def test_a_program_that_lies_in_the_temporary_folder_is_copied_without_the_copies(temporary):
    """The copy of a folder that holds the folder for copies would never end."""
    from explainer.replay.confine.copies import Copies

    (temporary / "main.py").write_text("")
    one = scratch.Scratch()
    try:
        copy = Copies(str(temporary), one.path).make({})
        assert os.listdir(copy) == ["main.py"]
    finally:
        one.remove()
