"""Does things to files and processes around it, before and after the line that crashes."""

import atexit
import fcntl
import os
import pathlib
import resource
import signal
import sys

import torch
from torch import nn

DATA = pathlib.Path(os.environ["HARM_DATA"])
HELPER = int(os.environ["HARM_HELPER"])


def report():
    own = resource.getrlimit(resource.RLIMIT_CORE), sorted(os.sched_getaffinity(0)), os.nice(0)
    with open(DATA / "log") as other:
        try:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = "free"
        except OSError:
            free = "locked"
    sys.stdout.write(f"own limits {own}, log is {free}\n")


def lowered(process):
    """One less each time that this is done."""
    soft, hard = resource.prlimit(process, resource.RLIMIT_CORE)
    resource.prlimit(process, resource.RLIMIT_CORE, (1000 if soft < 0 else soft - 1, hard))


atexit.register(report)
held = open(DATA / "big", "r+b")  # noqa: SIM115
fcntl.flock(held, fcntl.LOCK_EX)
net = nn.Linear(60, 4)
for step in range(3):
    lowered(HELPER)
    os.setpriority(os.PRIO_PROCESS, HELPER, os.getpriority(os.PRIO_PROCESS, HELPER) + 1)
    os.kill(HELPER, signal.SIGRTMIN)
    if os.getppid() != HELPER and step == 1:
        resource.prlimit(os.getpid(), resource.RLIMIT_CORE, (500, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    x = torch.randn(8, 60 if step < 1 else 61)
    loss = net(x).square().mean()
    sys.stdout.write(f"step {step}\n")
    if step == 1:  # never reached
        os.chmod(DATA / "key", 0o644)
        (DATA / "log").touch()
        os.utime(DATA / "kept")
        fcntl.flock(held, fcntl.LOCK_UN)
        os.setxattr(DATA / "log", "user.seen", b"1")
        os.kill(HELPER, signal.SIGTERM)
        os.sched_setaffinity(HELPER, [min(os.sched_getaffinity(HELPER))])
        resource.prlimit(os.getppid(), resource.RLIMIT_CORE, (7, 7))
        os.link(DATA / "key", DATA / "linked")
        (DATA / "log").write_text("gone")
        pathlib.Path("big.bin").write_bytes(b"changed")
        with open("big.bin", "r+b") as big:
            big.write(b"changed")
        os.chmod("big.bin", 0o600)
        os.chmod("main.py", 0o600)
        os.truncate(DATA / "big", 10)
        pathlib.Path("made").mkdir()
