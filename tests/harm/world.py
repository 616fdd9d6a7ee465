"""What attempts from inside a sandbox aim at, around one process: files, processes, memory, descriptors, a terminal.

`World.seen` is all of it as seen from outside, so that whatever an attempt did shows as a difference.
"""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import mmap
import os
import pty
import resource
import select
import shutil
import signal
import socket
import stat
import struct
import tempfile
import termios
from contextlib import suppress
from pathlib import Path
from typing import Any

libc = ctypes.CDLL(None, use_errno=True)
PAGE = mmap.PAGESIZE
#: Blocked in the processes of a world, so that one that is sent stays pending, and can be seen.
SIGNALS = {signal.SIGUSR1, signal.SIGUSR2, signal.SIGIO, signal.SIGURG, signal.SIGTERM}
_GETFLAGS = 0x80086601


class World:
    """Makes it all; a context manager. The process that makes it is the one that has crashed."""

    def __init__(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        self.root = Path(tempfile.mkdtemp(prefix="world-"))
        self.outside, self.copy = self.root / "outside", self.root / "copy"
        self.parent = os.getpid()
        self._closing: list[Any] = []
        self._files()
        self._descriptors()
        self._sockets()
        self._memory()
        self._ipc()
        self.victim = self._victim()

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: object) -> None:
        os.kill(self.victim, signal.SIGKILL)
        os.waitpid(self.victim, 0)
        for one in self._closing:
            with suppress(OSError, BufferError):
                one.close() if hasattr(one, "close") else os.close(one)
        libc.shmdt(ctypes.c_void_p(self.attached))
        for remove, name in ((libc.shmctl, self.shm), (libc.msgctl, self.queue)):
            remove(name, 0, None)
        libc.semctl(self.semaphore, 0, 0)
        while (number := signal.sigtimedwait(SIGNALS, 0)) is not None:
            del number
        shutil.rmtree(self.root, ignore_errors=True)

    def _files(self) -> None:
        for folder in (self.outside, self.outside / "folder", self.outside / "empty", self.copy):
            folder.mkdir()
        self.key, self.other, self.big = self.outside / "key", self.outside / "folder" / "other", self.outside / "big"
        self.key.write_text("secret")
        self.key.chmod(0o600)
        self.other.write_text("other")
        self.big.write_bytes(b"big " * (1 << 15))
        (self.copy / "mine").write_text("mine")
        os.symlink(self.big, self.copy / "big")
        os.symlink(self.outside / "folder", self.copy / "folder")
        os.symlink("key", self.outside / "link")
        os.mkfifo(self.outside / "fifo")
        with suppress(OSError):
            os.setxattr(self.key, "user.kept", b"as it was")
        for path in self._paths():
            os.utime(path, ns=(10**18, 10**18), follow_symlinks=False)

    def _paths(self) -> list[Path]:
        return [self.outside, *sorted(self.outside.rglob("*"))]

    def _descriptors(self) -> None:
        self.written = self._kept(os.open(self.outside / "folder" / "log", os.O_WRONLY | os.O_CREAT))
        self.read = self._kept(os.open(self.key, os.O_RDONLY))
        self.both = self._kept(os.open(self.other, os.O_RDWR))
        self.locked = self._kept(os.open(self.big, os.O_RDONLY))
        fcntl.flock(self.locked, fcntl.LOCK_EX)
        self.pipe = [self._kept(one) for one in os.pipe()]
        os.write(self.pipe[1], b"data")
        self.event = self._kept(libc.eventfd(0, os.O_NONBLOCK))
        self.memory_file = self._kept(os.memfd_create("small", os.MFD_ALLOW_SEALING))
        os.write(self.memory_file, b"memory")
        self.large_memory_file = self._kept(os.memfd_create("large"))
        os.ftruncate(self.large_memory_file, 17 << 20)
        self.folder = self._kept(os.open(self.outside, os.O_RDONLY | os.O_DIRECTORY))
        self.master, self.terminal = (self._kept(one) for one in pty.openpty())
        self.terminal_number = os.path.basename(os.ttyname(self.terminal))
        os.write(self.master, b"typed\n")
        for end in (self.terminal, self.master):  # the kernel hands on what was typed, and its echo, in its own time
            select.select([end], [], [])
        self.poll = select.epoll()
        self.poll.register(self.pipe[0], select.EPOLLIN)
        self._closing.append(self.poll)
        self.timer = self._kept(libc.timerfd_create(1, 0))

    def _kept(self, descriptor: int) -> int:
        assert descriptor >= 0
        self._closing.append(descriptor)
        return descriptor

    def _sockets(self) -> None:
        self.tcp, self.udp = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
        self.unix, self.datagrams = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.abstract = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        for one in (self.tcp, self.udp):
            one.bind(("127.0.0.1", 0))
        self.unix.bind(str(self.root / "stream"))
        self.datagrams.bind(str(self.root / "datagrams"))
        self.abstract.bind(f"\0explainer-{os.getpid()}")
        self.tcp.listen()
        self.unix.listen()
        self.pair = socket.socketpair()
        self._closing += [self.tcp, self.udp, self.unix, self.datagrams, self.abstract, *self.pair]

    def _memory(self) -> None:
        self.mapped = self.outside / "folder" / "mapped"
        self.mapped.write_bytes(b"m" * 4 * PAGE)
        os.utime(self.mapped, ns=(10**18, 10**18))
        opened = os.open(self.mapped, os.O_RDWR)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        allowed = (mmap.PROT_READ | mmap.PROT_WRITE, mmap.PROT_WRITE, mmap.PROT_READ, 0)
        self.maps = [libc.mmap(None, PAGE, one, mmap.MAP_SHARED, opened, PAGE * at) for at, one in enumerate(allowed)]
        os.close(opened)
        self.anonymous = mmap.mmap(-1, PAGE)
        self.own = ctypes.create_string_buffer(b"own", 16)

    def _ipc(self) -> None:
        libc.shmat.restype = ctypes.c_void_p
        self.shm = libc.shmget(0, PAGE, 0o1600)
        self.attached = libc.shmat(self.shm, None, 0)
        self.semaphore = libc.semget(0, 1, 0o1600)
        self.queue = libc.msgget(0, 0o1600)

    def _victim(self) -> int:
        """Another process of the user's, which sleeps."""
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)
            while True:
                signal.pause()
        with suppress(OSError):
            os.setpgid(pid, pid)
        return pid

    def seen(self) -> dict[str, Any]:
        """The state of it all, plain data by name."""
        found: dict[str, Any] = {}
        for path in self._paths():
            found[f"file {path.relative_to(self.root)}"] = _file(path)
        for name, pid in (("victim", self.victim), ("parent", self.parent)):
            found |= {f"{name} {what}": value for what, value in _process(pid).items()}
        found |= self._seen_memory() | self._seen_descriptors() | self._seen_sockets()
        for name in ("shm", "sem", "msg"):
            found[f"sysv {name}"] = _columns(f"/proc/sysvipc/{name}")
        found["semaphore"] = libc.semctl(self.semaphore, 0, 12)  # GETVAL
        found["mounts"] = Path("/proc/self/mounts").read_text()
        found["keys"] = _keys()
        return found

    def _seen_memory(self) -> dict[str, Any]:
        return {
            "victim memory": self._of_victim(),
            "anonymous memory": hashlib.md5(self.anonymous[:]).hexdigest(),
            "sysv memory": hashlib.md5(ctypes.string_at(self.attached, PAGE)).hexdigest(),
        }

    def _of_victim(self) -> str:
        try:
            with open(f"/proc/{self.victim}/mem", "rb") as memory:
                memory.seek(ctypes.addressof(self.own))
                return memory.read(16).hex()
        except OSError:
            return "it is gone"

    def _seen_descriptors(self) -> dict[str, Any]:
        files = (self.written, self.read, self.both, self.memory_file, self.large_memory_file)
        found: dict[str, Any] = {f"offset {at}": os.lseek(one, 0, os.SEEK_CUR) for at, one in enumerate(files)}
        every = (*files, *self.pipe, self.terminal, self.pair[0].fileno(), self.folder)
        found |= {f"flags {at}": fcntl.fcntl(one, fcntl.F_GETFL) for at, one in enumerate(every)}
        found["memory files"] = [_hash(one) for one in (self.memory_file, self.large_memory_file)]
        found["seals"] = fcntl.fcntl(self.memory_file, fcntl.F_GET_SEALS)
        found["pipe"] = [_waiting(self.pipe[0]), fcntl.fcntl(self.pipe[0], fcntl.F_GETPIPE_SZ)]
        found["owner"] = [fcntl.fcntl(one, fcntl.F_GETOWN) for one in (self.pipe[0], self.terminal)]
        found["event"] = bool(select.select([self.event], [], [], 0)[0])
        found["locked"] = _is_locked(self.big)
        found["terminal"] = [*termios.tcgetattr(self.terminal)[:6], _waiting(self.terminal), _waiting(self.master)]
        found["window"] = fcntl.ioctl(self.terminal, termios.TIOCGWINSZ, bytes(8)).hex()
        found["poll"] = self.poll.poll(0)
        found["timer"] = Path(f"/proc/self/fdinfo/{self.timer}").read_text().splitlines()[-1]
        return found

    def _seen_sockets(self) -> dict[str, Any]:
        every = (self.tcp, self.udp, self.unix, self.datagrams, self.abstract, *self.pair)
        return {"sockets": [bool(select.select([one], [], [], 0)[0]) for one in every]}


def _file(path: Path) -> dict[str, Any]:
    found = path.lstat()
    shown = {name: getattr(found, f"st_{name}") for name in ("mode", "uid", "gid", "mtime_ns", "nlink", "size")}
    if stat.S_ISREG(found.st_mode):
        shown["content"] = hashlib.md5(path.read_bytes()).hexdigest()
        with suppress(OSError):
            shown["more"] = {name: os.getxattr(path, name).hex() for name in os.listxattr(path)}
        with suppress(OSError), path.open("rb") as file:
            shown["flags"] = fcntl.ioctl(file, _GETFLAGS, bytes(8)).hex()
    return shown


def _process(pid: int) -> dict[str, Any]:
    status = dict(line.split(":\t") for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)
    names = ("SigPnd", "ShdPnd", "TracerPid", "Cpus_allowed", "Seccomp", "Uid")
    limits = [resource.prlimit(pid, one) for one in (resource.RLIMIT_NOFILE, resource.RLIMIT_CORE)]
    ioprio = libc.syscall({"x86_64": 252, "aarch64": 31}[os.uname().machine], 1, pid)
    return {
        "status": {name: status[name].strip() for name in names},
        "state": "alive" if status["State"][0] in "RSD" else status["State"],
        "scheduling": [os.getpriority(os.PRIO_PROCESS, pid), os.sched_getscheduler(pid), ioprio],
        "limits": limits,
        "files": [_text(f"/proc/{pid}/{name}") for name in ("oom_score_adj", "coredump_filter", "timerslack_ns")],
        "namespaces": [_target(f"/proc/{pid}/ns/{name}") for name in ("mnt", "net", "uts", "user")],
    }


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def _target(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _columns(path: str) -> list[str]:
    """What is there of System V objects, without times and without who was attached last."""
    rows = [row.split() for row in _text(path).splitlines()[1:]]
    return [" ".join(row[: 5 if path.endswith("msg") else 4]) for row in rows]


def _keys() -> list[str]:
    """The user's keys, by description; timeouts and counts change by themselves."""
    return sorted(" ".join(row.split()[7:]).rsplit(":", 1)[0] for row in _text("/proc/keys").splitlines())


def _hash(descriptor: int) -> str:
    return hashlib.md5(os.pread(descriptor, PAGE, 0)).hexdigest()


def _waiting(descriptor: int) -> int:
    """Bytes that can be read."""
    return struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)))[0]


def _is_locked(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False
