"""The sandbox: whatever a replayed program does, its process, files and objects are as before, and it ends on time."""

import ctypes
import multiprocessing
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from explainer.replay.confine import early, landlock, sandbox, seccomp  # noqa: E402

pytestmark = pytest.mark.skipif(sandbox.unavailable() is not None, reason=f"no sandbox: {sandbox.unavailable()}")


def children() -> set[str]:
    """The processes that this one has started and not taken note of."""
    return {pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


class Meddler(torch.nn.Module):
    """A forward that does everything a forward should not do."""

    def __init__(self, folder):
        super().__init__()
        self.folder = folder
        self.calls = 0
        self.linear = torch.nn.Linear(3, 3)
        self.log = open(folder / "log.txt", "w")  # noqa: SIM115
        self.data = open(folder / "data.bin", "rb")  # noqa: SIM115
        self.failed = []

    def forward(self, x):
        self.calls += 1
        print("forward was called")
        random.random()
        deeds = (
            lambda: (self.folder / "new.txt").write_text("x"),
            lambda: torch.save(self.state_dict(), str(self.folder / "model.pt")),
            lambda: os.truncate(self.folder / "model.pt", 0),
            lambda: os.open(self.folder / "model.pt", os.O_RDONLY | os.O_TRUNC),
            lambda: os.remove(self.folder / "model.pt"),
            lambda: os.rename(self.folder / "model.pt", self.folder / "gone.pt"),
            lambda: os.mkdir(self.folder / "made"),
            lambda: os.symlink("model.pt", self.folder / "link"),
            lambda: os.chmod(self.folder / "model.pt", 0),
            lambda: os.utime(self.folder / "model.pt", (0, 0)),
            lambda: os.kill(os.getppid(), signal.SIGUSR1),
            lambda: os.fork(),
            lambda: subprocess.run([sys.executable, "-c", "pass"], check=True),
            lambda: multiprocessing.get_context("spawn").Process(target=print).start(),
            lambda: socket.create_connection(("127.0.0.1", 9), timeout=0.1),
            lambda: socket.socket(socket.AF_UNIX),
            lambda: ctypes.CDLL(None, use_errno=True).fork() == -1 and os.strerror(ctypes.get_errno()) and 1 / 0,
        )
        for number, deed in enumerate(deeds):
            try:
                deed()
            except Exception:
                self.failed.append(number)
        self.log.write("a line")
        self.log.flush()
        self.data.read(4)
        thread = threading.Thread(target=time.sleep, args=(60,), daemon=True)
        thread.start()
        with torch.no_grad():
            self.linear.weight.zero_()
        return self.linear(x)


def state_of(folder):
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_mode) for path in folder.iterdir()}


@pytest.fixture
def meddler(tmp_path):
    (tmp_path / "data.bin").write_bytes(bytes(range(64)))
    model = Meddler(tmp_path)
    torch.save(model.state_dict(), tmp_path / "model.pt")
    return model


@pytest.mark.parametrize("with_landlock", [True, False], ids=["landlock", "seccomp alone"])
def test_a_program_that_meddles_is_exactly_as_before(meddler, tmp_path, capfd, monkeypatch, with_landlock):
    """Files, descriptors' offsets, parameters, counters, random state and printed text are untouched by a replay."""
    if not with_landlock:
        monkeypatch.setattr(landlock, "abi", lambda: 0)
    before, weight = state_of(tmp_path), meddler.linear.weight.detach().clone()
    states = random.getstate(), torch.get_rng_state()

    def replay():
        meddler(torch.rand(2, 3))
        return [meddler.calls, meddler.failed]

    outcome = sandbox.run(replay, deadline=20.0)

    assert outcome.failed is None
    assert outcome.value == [1, list(range(17))]
    assert (meddler.calls, meddler.failed) == (0, [])
    assert torch.equal(meddler.linear.weight, weight)
    assert state_of(tmp_path) == before
    assert meddler.data.tell() == 0
    assert meddler.data.read(4) == bytes(range(4))
    assert random.getstate() == states[0]
    assert torch.equal(torch.get_rng_state(), states[1])
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(not landlock.abi(), reason="this kernel has no Landlock")
def test_landlock_alone_forbids_every_write(tmp_path, monkeypatch):
    """The two locks are independent: without the filter of system calls files still cannot be changed."""
    monkeypatch.setattr(early, "filtered", lambda files, processes: ([], ()))
    monkeypatch.setattr(seccomp, "restrict", lambda pid, **allowed: None)
    (tmp_path / "kept.txt").write_text("kept")

    def replay():
        refused = []
        for name, flags in (("kept.txt", os.O_WRONLY), ("new.txt", os.O_WRONLY | os.O_CREAT)):
            try:
                os.open(tmp_path / name, flags)
            except OSError as error:
                refused.append(error.errno)
        try:
            os.remove(tmp_path / "kept.txt")
        except OSError as error:
            refused.append(error.errno)
        return refused

    assert sandbox.run(replay, deadline=20.0).value == [13, 13, 13]
    assert [path.name for path in tmp_path.iterdir()] == ["kept.txt"]


def test_shared_memory_and_memory_maps_are_copied(tmp_path):
    """A tensor in shared memory and a writable memory map keep the parent's values when the child writes to them."""
    numpy = pytest.importorskip("numpy")
    shared = torch.zeros(5).share_memory_()
    mapped = numpy.memmap(tmp_path / "map.bin", dtype="float32", mode="w+", shape=(8,))

    def replay():
        shared.fill_(1)
        mapped[:] = 1
        return shared.sum().item() + float(mapped.sum())

    assert sandbox.run(replay, deadline=20.0).value == 13.0
    assert shared.sum() == 0
    assert mapped.sum() == 0


def test_the_deadline_ends_the_child_and_its_threads():
    """A child that sleeps, ignores signals or has threads is gone when `run` returns, and the reason is said."""

    def replay():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        threading.Thread(target=time.sleep, args=(60,)).start()
        time.sleep(60)

    before = children()
    outcome = sandbox.run(replay, deadline=0.3)
    assert outcome.failed == "no answer within 0.3 s"
    assert children() <= before


def test_children_of_the_child_die_with_it(tmp_path):
    """Where processes are allowed, those left behind are killed too, even if they ask for a session of their own."""

    def replay():
        pid = os.fork()
        if pid == 0:
            try:
                os.setsid()
            except OSError:
                pass
            time.sleep(60)
            os._exit(0)
        return pid

    pid = sandbox.run(replay, deadline=20.0, writable=[str(tmp_path)], processes=True).value
    assert pid
    for _ in range(200):
        if not os.path.exists(f"/proc/{pid}") or " Z " in open(f"/proc/{pid}/stat").read():  # noqa: SIM115
            return
        time.sleep(0.01)
    pytest.fail("a grandchild outlived the sandbox")


@pytest.mark.skipif(not landlock.abi(), reason="this kernel has no Landlock")
def test_only_the_named_folder_is_writable(tmp_path):
    """A copy of a program may be written to, the folder beside it may not."""
    (tmp_path / "copy").mkdir()

    def replay():
        (tmp_path / "copy" / "out.txt").write_text("x")
        (tmp_path / "out.txt").write_text("x")

    outcome = sandbox.run(replay, deadline=20.0, writable=[str(tmp_path / "copy")])
    assert outcome.failed.startswith("PermissionError")
    assert [path.name for path in tmp_path.rglob("*.txt")] == ["out.txt"]


def test_memory_is_limited():
    """An allocation beyond the limit fails in the child instead of filling the machine."""
    outcome = sandbox.run(lambda: torch.ones(1 << 28).sum().item(), deadline=20.0, memory=1 << 28)
    assert "alloc" in outcome.failed


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda: {}["key"], "KeyError: 'key'"),
        (lambda: sys.exit(3), "SystemExit: 3"),
        (lambda: os._exit(3), "the child died"),
        (lambda: ctypes.string_at(0), "the child died"),
        (lambda: torch.ones(2), "TypeError: Object of type Tensor is not JSON serializable"),
        (lambda: "x" * (10 << 20), "the child died"),
    ],
)
def test_a_child_that_fails_says_so_in_one_line(function, said):
    """Exceptions, exits, crashes and results that are no plain data end in a reason, never in an exception."""
    outcome = sandbox.run(function, deadline=20.0)
    assert (outcome.value, outcome.failed) == (None, said)


def test_a_thread_of_torch_makes_it_unavailable():
    """A fork while torch's own threads run may hang: the sandbox says that it is not to be had."""
    ready, done = threading.Event(), threading.Event()

    def pin():
        ready.set()
        done.wait(10)

    pin.__module__ = "torch.utils.data._utils.pin_memory"
    thread = threading.Thread(target=pin)
    thread.start()
    ready.wait(10)
    try:
        assert sandbox.unavailable() == "torch has threads running"
    finally:
        done.set()
        thread.join()
    assert sandbox.unavailable() is None


def test_an_interrupt_ends_the_child_and_passes(monkeypatch):
    """Ctrl-C while a replay runs kills the child and reaches the caller as KeyboardInterrupt."""
    before = children()
    monkeypatch.setattr(sandbox, "_read", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        sandbox.run(lambda: time.sleep(60), deadline=30.0)
    assert children() <= before


def test_two_children_work_at_the_same_time_and_one_that_is_not_asked_is_ended():
    """The unedited run and an edited one go side by side; whichever is not needed must not stay behind."""
    before = children()
    asked, other = sandbox.begin(os.getpid), sandbox.begin(lambda: time.sleep(30))
    outcome = asked.outcome()
    assert outcome.value not in (None, os.getpid())
    other.end()
    assert children() <= before


def test_patience_ends_a_child_before_its_deadline_and_says_so():
    outcome = sandbox.begin(lambda: time.sleep(30), deadline=20.0).outcome(0.2)
    assert (outcome.value, outcome.late) == (None, True)
    assert outcome.seconds < 10


def test_who_waits_for_a_child_is_told_now_and_then_that_it_is_at_work():
    """So that a terminal can say what takes long."""
    told = []
    outcome = sandbox.run(lambda: time.sleep(0.5) or 7, deadline=20.0, waiting=lambda: told.append(1))
    assert outcome.value == 7
    assert told
