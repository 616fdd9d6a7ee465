"""Children of a diagnosis are confined before any of the user's code could run in them, and nobody hears of them."""

from __future__ import annotations

import gc
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from commands import python

torch = pytest.importorskip("torch")

from explainer.replay.confine import clone, sandbox  # noqa: E402

pytestmark = pytest.mark.skipif(sandbox.unavailable() is not None, reason=f"no sandbox: {sandbox.unavailable()}")

#: What lets go of something when a module goes, a thread's locals go, or an object is collected.
HELD = """
    import os, socket, tempfile, weakref

    OWNER = os.getpid()

    writing = []

    def seen(what):
        if os.getpid() != OWNER and not writing:
            writing.append(what)
            try:
                with open(os.environ["SEEN"], "a") as file:
                    file.write(what + "\\n")
            except OSError:
                pass
            finally:
                writing.clear()

    class Goodbye:
        def __init__(self, what):
            self.what = what
            self.mine, self.theirs = socket.socketpair()
        def __del__(self):
            seen(self.what)
            self.mine.send(b"goodbye")

    _holder = tempfile.TemporaryDirectory()
    WORK = _holder.name
    named = tempfile.NamedTemporaryFile("w")
    log = open("log.txt", "w")
    log.write("one line, not written yet\\n")
    connection = Goodbye("module")
    theirs = connection.theirs
    weakref.finalize(connection, seen, "finalizer")
"""
TRAIN = """
    import atexit, os, random, signal, sys, threading, time
    import explainer
    explainer.install()
    import torch
    from held import WORK, Goodbye, log, named, seen, theirs

    for name in ("before", "after_in_parent", "after_in_child"):
        os.register_at_fork(**{name: lambda name=name: open(os.environ["SEEN"], "a").write(name)})
    sys.addaudithook(lambda event, _: seen("audit " + event) if event in ("open", "os.fork") else None)
    signal.signal(signal.SIGALRM, lambda *_: seen("alarm"))
    signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
    weights = torch.zeros(3).share_memory_()
    begun = threading.Event()

    def beside():
        local = threading.local()
        local.held = Goodbye("local of a thread")
        try:
            raise ValueError(Goodbye("error of a thread"))
        except ValueError:
            begun.set()
            time.sleep(1000)

    threading.Thread(target=beside, daemon=True).start()
    begun.wait()
    cycle = [Goodbye("cycle")]
    cycle.append(cycle)
    cycles = [id(cycle)]
    del cycle
    open(os.path.join(WORK, "data.txt"), "w").write("mine")
    random.seed(7)

    @atexit.register
    def end():
        signal.setitimer(signal.ITIMER_REAL, 0)
        theirs.setblocking(False)
        try:
            print(theirs.recv(100))
        except BlockingIOError:
            print("nothing said")
        log.close()
        print(open("log.txt").read(), os.path.exists(named.name), os.listdir(WORK), random.random(), weights.tolist())

    width = 5
    net = torch.nn.Linear(width * 2, 3)
    weights += 1
    net(torch.ones(2, 12)).sum().backward()
"""
#: A program that has children of its own and a handler that counts the ends of children, or ignores them.
CHILDREN = """
    import atexit, os, signal, subprocess, sys, threading, time
    import explainer
    explainer.install()
    import torch

    told, collected, over = [], [], threading.Event()
    if sys.argv[1] == "handler":
        signal.signal(signal.SIGCHLD, lambda *_: told.append(os.getpid()))
    else:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    def collect():
        while not over.is_set():
            try:
                collected.append(os.waitpid(-1, os.WNOHANG)[0])
            except ChildProcessError:
                pass
            time.sleep(0.001)

    if os.fork() == 0:
        os._exit(0)
    thread = threading.Thread(target=collect)

    @atexit.register
    def end():
        over.set()
        print(len(told), len([one for one in collected if one]))

    threading._register_atexit(over.set)
    thread.start()
    time.sleep(0.2)
    net = torch.nn.Linear(10, 3)
    net(torch.ones(2, 12))
"""


def both(folder, *arguments, **files):
    """The same program without and with us, in the same folder."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text))
    more = {"TMPDIR": str(folder), "SEEN": str(folder / "seen.txt")}
    bare = python("train.py", *arguments, cwd=folder, EXPLAINER="0", **more)
    return bare, python("train.py", *arguments, cwd=folder, **more)


def test_nothing_that_the_program_holds_is_let_go_of_in_a_child(tmp_path):
    """Folders, files, connections, hooks, handlers, locals of threads: all are as if there had been no child."""
    bare, ours = both(tmp_path, held=HELD, train=TRAIN)
    assert "checked" in ours.stderr
    assert (ours.stdout, ours.returncode) == (bare.stdout, bare.returncode)
    assert "nothing said\none line, not written yet\n True ['data.txt']" in ours.stdout
    assert not (tmp_path / "seen.txt").exists()
    assert not list(tmp_path.glob("explain-*"))


@pytest.mark.parametrize(("kept", "printed"), [("handler", "1 1\n"), ("ignored", "0 0\n")])
def test_nobody_hears_of_our_children(kept, printed, tmp_path):
    """Neither a handler of SIGCHLD nor a wait for any child sees them; ignoring the signal changes nothing."""
    bare, ours = both(tmp_path, kept, train=CHILDREN)
    assert "checked" in ours.stderr
    assert (ours.stdout, ours.returncode) == (bare.stdout, bare.returncode) == (printed, 1)
    assert not list(tmp_path.glob("explain-*"))


def test_a_child_whose_steps_fail_runs_no_python():
    reading, writing = os.pipe()
    pid = clone.begin([clone.step(int, -1)], lambda: os.write(writing, b"ran"))
    os.close(writing)
    assert clone.ended(pid)
    assert os.read(reading, 9) == b""
    os.close(reading)


def test_busy_threads_do_not_keep_a_child_from_working():
    """A thread that waits for the interpreter's lock asks for it in memory that the child inherits."""
    over = threading.Event()
    threads = [threading.Thread(target=lambda: [None for _ in iter(over.is_set, True)]) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        found = [sandbox.run(lambda: len(threading.enumerate()), deadline=20.0).value for _ in range(8)]
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert found == [1] * 8


def test_this_process_is_as_before_a_child():
    """The collector, hooks, random numbers and the import lock; the child draws the numbers that came next here."""
    ran = []
    os.register_at_fork(before=lambda: ran.append(1), after_in_parent=lambda: ran.append(2))
    random.seed(3)
    state, enabled, hooks = random.getstate(), gc.isenabled(), len(clone.hooks() or ())
    drawn = sandbox.run(random.random, deadline=20.0).value
    assert (random.getstate(), gc.isenabled(), len(clone.hooks() or ()), ran) == (state, enabled, hooks, [])
    assert drawn == random.random()


def test_processes_of_a_replay_are_as_in_any_program(tmp_path):
    """Where a replay may start processes, their ends are told and waited for as usual, also with threads of BLAS."""
    numpy = pytest.importorskip("numpy")
    numpy.ones((300, 300)) @ numpy.ones((300, 300))

    def replay():
        told = []
        signal.signal(signal.SIGCHLD, lambda *_: told.append(1))
        ended = [subprocess.run([sys.executable, "-S", "-c", "pass"], check=True).returncode]
        pid = os.fork()
        if pid == 0:
            os._exit(3)
        ended.append(os.waitstatus_to_exitcode(os.wait()[1]))
        torch.set_num_threads(4)
        return [ended, len(told), float((numpy.ones((300, 300)) @ numpy.ones((300, 300)))[0, 0])]

    outcome = sandbox.run(replay, deadline=30.0, writable=[str(tmp_path)], processes=True)
    assert (outcome.failed, outcome.value) == (None, [[0, 3], 2, 300.0])


def test_a_child_ends_with_the_process_that_began_it(tmp_path):
    """Also where that is killed: no replay goes on for somebody who is gone."""
    (tmp_path / "main.py").write_text(
        "import os, time\nfrom explainer.replay.confine import sandbox\n"
        "child = sandbox.begin(lambda: time.sleep(1000), deadline=1000)\n"
        "print(child._pid, flush=True)\ntime.sleep(0.3)\nos.kill(os.getpid(), 9)\n"
    )
    pid = int(python("main.py", cwd=tmp_path).stdout)
    until = time.monotonic() + 20
    while os.path.exists(f"/proc/{pid}"):
        assert time.monotonic() < until
        time.sleep(0.01)
