"""What a program keeps alive: a temporary folder, a connection that says goodbye, finalizers, hooks at forks."""

import atexit
import os
import pathlib
import socket
import sqlite3
import sys
import tempfile
import weakref

_holder = tempfile.TemporaryDirectory()
WORK = pathlib.Path(_holder.name)
DATA = pathlib.Path(os.environ["HARM_DATA"])


class Connection:
    def __init__(self):
        self.socket = socket.socket()
        if self.socket.connect_ex(("127.0.0.1", int(os.environ["HARM_PORT"]))) == 0:
            self.socket.sendall(b"hello;")

    def __del__(self):
        try:
            self.socket.sendall(b"bye;")
            self.socket.close()
        except OSError:
            pass


def said(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def append(name, line):
    with open(DATA / name, "a") as file:
        file.write(line + "\n")


class Finalized:
    pass


connection = Connection()
buffered = open(DATA / "buffered", "w")  # noqa: SIM115
buffered.write("written once\n")
lines = open(DATA / "lines", "w", buffering=1 << 20)  # noqa: SIM115
base = sqlite3.connect(DATA / "base.db")
base.execute("create table t (n int)")
base.execute("insert into t values (1)")
kept = Finalized()
weakref.finalize(kept, append, "finalized", "once")
os.register_at_fork(before=lambda: append("forks", "before"), after_in_child=lambda: append("forks", "child"))
os.register_at_fork(after_in_parent=lambda: append("forks", "parent"))
atexit.register(lambda: said(f"at exit: work {sorted(one.name for one in WORK.iterdir())}"))
atexit.register(append, "ended", "once")
