"""Runs a program bare and under us, each in a fresh copy of its folder, and tells all that another could have seen.

A world is a folder with the program in `code`, a temporary folder `tmp`, a home, and `data` beside it. A helper
process, a loopback server and names in /dev/shm are what lies around it.
"""

from __future__ import annotations

import hashlib
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from commands import ROOT, environment

PROGRAMS = Path(__file__).parent / "programs"
#: How a program is run: as it is, after `explainer.install()`, by `explain run`.
MODES = ("bare", "install", "run")
_INSTALL = "import os\nif os.environ.get('HARM_INSTALL'):\n    import explainer\n\n    explainer.install()\n"
#: A process that a program may do things to: it says which signals it gets, each as often as it was sent.
_HELPER = """
import os, signal
kinds = {signal.SIGUSR1, signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGRTMIN, signal.SIGRTMAX}
signal.pthread_sigmask(signal.SIG_BLOCK, kinds)
os.write(1, b"ready\\n")
while (one := signal.sigwaitinfo(kinds).si_signo) != signal.SIGRTMAX:
    os.write(1, b"%d " % one)
"""
_LONG_AGO = 1_000_000_000


@dataclass
class Seen:
    """All that was seen of one run. `files`: by path what each is, its mode, its content, whether it was changed."""

    status: int
    stdout: str
    stderr: str
    files: dict[str, tuple]
    temporary: set[str]
    shared: set[str]
    signals: list[str]
    helper: dict[str, object]
    requests: list[bytes] = field(default_factory=list)


def seen(name: str, mode: str, folder: Path) -> Seen:
    """What one run of a program did: `folder` is empty and becomes its world."""
    world = _made(name, folder)
    before = _shared()
    with _server() as (port, requests), _helper() as helper:
        env = _environment(world, mode, port, helper.pid)
        command = [sys.executable, *(["-m", "explainer", "run"] if mode == "run" else []), "main.py"]
        done = subprocess.run(command, cwd=world / "code", env=env, capture_output=True, timeout=120, check=False)
        state = _state_of(helper)
        helper.send_signal(signal.SIGRTMAX)
        signals = helper.communicate()[0].decode().split()
    said = [one.decode("utf-8", "replace").replace(str(world), "WORLD") for one in (done.stdout, done.stderr)]
    files = {path: one for part in ("code", "data", "home") for path, one in _files(world, world / part).items()}
    temporary = set(_files(world, world / "tmp"))
    return Seen(done.returncode, *said, files, temporary, _shared() - before, signals, state, requests)


def _made(name: str, folder: Path) -> Path:
    """A world with files of which a change would be seen: their times are long ago."""
    shutil.copytree(PROGRAMS / name, folder / "code")
    for part in ("data", "home", "tmp", "site", "state"):
        (folder / part).mkdir()
    (folder / "site" / "sitecustomize.py").write_text(_INSTALL, encoding="utf-8")
    (folder / "data" / "key").write_text("secret", encoding="utf-8")
    (folder / "data" / "key").chmod(0o600)
    (folder / "data" / "log").write_text("line\n", encoding="utf-8")
    (folder / "data" / "big").write_bytes(bytes(1_500_000))
    (folder / "code" / "big.bin").write_bytes(bytes(1_500_000))
    (folder / "data" / "kept").mkdir()
    for path in (*folder.rglob("*"), folder):
        os.utime(path, (_LONG_AGO, _LONG_AGO))
    return folder


def _environment(world: Path, mode: str, port: int, helper: int) -> dict[str, str]:
    folders = {"HOME": "home", "TMPDIR": "tmp", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "state"}
    more = {name: str(world / part) for name, part in folders.items()}
    more |= {"HARM_PORT": str(port), "HARM_HELPER": str(helper), "HARM_DATA": str(world / "data")}
    more |= {"PYTHONPATH": f"{world / 'site'}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1"}
    more |= {"HARM_INSTALL": "1"} if mode == "install" else {}
    return environment(**more, PYTHONDONTWRITEBYTECODE="1")


def _files(world: Path, folder: Path) -> dict[str, tuple]:
    """By path: mode, links, whether the time is another, size and a sum of the content."""
    found = {}
    for path in (folder, *sorted(folder.rglob("*"))):
        status = path.lstat()
        content = hashlib.sha1(path.read_bytes()).hexdigest() if path.is_file() else ""
        changed = status.st_mtime != _LONG_AGO
        found[str(path.relative_to(world))] = (oct(status.st_mode), status.st_nlink, changed, content)
    found.pop(str(folder.relative_to(world)) if folder.name == "tmp" else "", None)
    return found


def _shared() -> set[str]:
    """Names in /dev/shm that are a program's of this suite, or ours."""
    try:
        return {name for name in os.listdir("/dev/shm") if name.startswith(("harm", "explain"))}
    except OSError:
        return set()


@contextmanager
def _helper():
    process = subprocess.Popen([sys.executable, "-c", _HELPER], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _state_of(helper: subprocess.Popen) -> dict[str, object]:
    pid, alive = helper.pid, helper.poll() is None
    if not alive:
        return {"alive": False}
    limits = {name: resource.prlimit(pid, getattr(resource, name)) for name in ("RLIMIT_CORE", "RLIMIT_NOFILE")}
    return {"alive": True, "cpus": os.sched_getaffinity(pid), "nice": os.getpriority(os.PRIO_PROCESS, pid), **limits}


@contextmanager
def _server():
    """A server on the loopback device: its port, and what each connection sent."""
    requests: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_accept, args=(listening, requests), daemon=True).start()
        yield listening.getsockname()[1], requests
        listening.shutdown(socket.SHUT_RDWR)


def _accept(listening: socket.socket, requests: list[bytes]) -> None:
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        with connection:
            number = len(requests)
            requests.append(b"")
            while data := connection.recv(4096):
                requests[number] += data
