"""Runs examples, each in a child forked from this process, which has torch loaded: a second import costs seconds.

Requests and answers are lines of JSON on standard input and output; see `examples.Runner`.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SCRIPT = "example.py"
#: How many of the last characters that a program printed are told.
_SHOWN = 1 << 16
#: The folder beside the program for what its run and the replays put into temporary files.
_TEMPORARY = "temporary"
#: Packages whose modules are imported where they are needed: every child would do so again.
_PARTS = ("edits", "oracle", "probes", "repair", "replay", "training")


def main() -> None:
    """Load what examples need, and the modules that arguments name; answer requests until an empty line, or the end."""
    replies = os.fdopen(os.dup(1), "w")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    _warm()
    for line in sys.stdin:
        if not line.strip():
            return
        replies.write(json.dumps(_answer(json.loads(line))) + "\n")
        replies.flush()


def _warm() -> None:
    import torch

    torch.set_num_threads(1)
    torch.optim.Adam([torch.nn.Parameter(torch.empty(1))])
    import explainer
    from explainer.catalogue.sandbox import environment
    from explainer.replay.confine import clone

    for name in sys.argv[1:]:
        importlib.import_module(name)
    for part in _PARTS:
        package = importlib.import_module(f"explainer.{part}")
        for one in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(one.name)
    clone.hooks()
    environment()
    explainer.explain("RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x576 and 400x120)")


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    """Run one example in a child, in an empty folder; whatever it leaves, running or in files, goes with it."""
    home = tempfile.mkdtemp(prefix="example-")
    folder = os.path.join(home, "program")
    try:
        os.makedirs(os.path.join(home, _TEMPORARY))
        for name, text in {**request.get("files", {}), request.get("script", SCRIPT): request["code"]}.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return _forked(request, folder)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _forked(request: dict[str, Any], folder: str) -> dict[str, Any]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.close(reading)
        _in_child(request, folder, writing)
    os.close(writing)
    data = _read(reading, time.monotonic() + request["seconds"])
    for signalled in (os.killpg, os.kill):
        try:
            signalled(child, signal.SIGKILL)
        except OSError:
            pass
    os.waitpid(child, 0)
    return json.loads(data) if data else {"outcome": "no answer in time, or the example ended the process"}


def _read(pipe: int, deadline: float) -> bytes:
    data = b""
    with os.fdopen(pipe, "rb", buffering=0) as file:
        while not data.endswith(b"\n"):
            ready, _, _ = select.select([file], [], [], max(0.0, deadline - time.monotonic()))
            piece = file.read(1 << 16) if ready else b""
            if not piece:
                return b""
            data += piece
    return data


def _in_child(request: dict[str, Any], folder: str, pipe: int) -> None:
    try:
        answer = _run(request, folder)
    except BaseException as error:
        answer = {"outcome": f"the runner failed: {type(error).__name__}: {error}"}
    os.write(pipe, (json.dumps(answer) + "\n").encode())
    os._exit(0)


def _run(request: dict[str, Any], folder: str) -> dict[str, Any]:
    """Run the program as `__main__`; how it ended and what it printed last, for an error what explains it."""
    import types

    os.chdir(folder)
    sys.path.insert(0, folder)
    tempfile.tempdir = os.path.join(os.path.dirname(folder), _TEMPORARY)
    os.dup2(os.open(os.devnull, os.O_RDWR), 2)
    if request.get("program") in ("clean", "watch"):
        _twin()
    path = str(Path(folder, request.get("script", SCRIPT)))
    printed = os.path.join(os.path.dirname(folder), "printed")
    os.dup2(os.open(printed, os.O_RDWR | os.O_CREAT, 0o600), 1)
    sys.argv = [path]
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    module.__dict__.update(__file__=path, __builtins__=__builtins__)
    began = time.monotonic()
    watcher = _watcher() if request.get("program") == "watch" else None
    try:
        exec(compile(request["code"], path, "exec"), module.__dict__)
    except SystemExit as error:
        return {"outcome": "ended"} if not error.code else {"outcome": f"exit status {error.code}"}
    except Exception as error:
        if request.get("bare"):
            built = _shapes(module.__dict__.get(request["bare"]))
            return {"outcome": "raised", "error": _told(error, folder), "built": built}
        return {"outcome": "raised", **_explained(error, request, path, time.monotonic() - began)}
    sys.stdout.flush()
    told = {} if watcher is None else _watched(watcher, path, time.monotonic() - began)
    shown = Path(printed).read_text(encoding="utf-8", errors="replace")[-_SHOWN:]
    return {"outcome": "ended", "printed": shown, **told}


def _told(error: Exception, folder: str) -> dict[str, Any]:
    """An error's type and message, and the innermost line of the program's: its file, number and text."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename.startswith(folder)]
    last = own[-1] if own else frames[-1]
    place = {"file": os.path.relpath(last.filename, folder), "line": last.lineno, "code": last.line}
    return {
        "type": type(error).__name__,
        "message": str(error)[:500],
        "own": bool(own) and own[-1] is frames[-1],
        **place,
    }


def _shapes(model: Any) -> dict[str, str] | None:
    """The shapes of a model's parameters; None where there is no model yet."""
    import torch

    if not isinstance(model, torch.nn.Module):
        return None
    return {name: "x".join(map(str, value.shape)) or "1" for name, value in model.named_parameters()}


def _watcher() -> Any:
    from explainer.training.watcher import Watcher

    return Watcher().start()


def _watched(watcher: Any, path: str, seconds: float) -> dict[str, Any]:
    """What watching the program found; edits are tried only where nothing is told without a trial, to save time."""
    from explainer.diagnosis import document
    from explainer.replay.program import Program
    from explainer.training.finding import findings
    from explainer.training.proposals import proposals
    from explainer.training.session import concluded

    watcher.stop()
    found = findings(watcher)
    proved = any(one.proved for one in found)
    if watcher.notes.trouble:
        raise RuntimeError(f"watching failed: {watcher.notes.trouble[0]}")
    program = Program(path, None, (), os.getcwd(), seconds)
    report = concluded(watcher, program, 120.0, seconds, "en", lambda _: None, trial=not proved)
    tried = [*found, *([] if proved else proposals(watcher))]
    held = {
        one.rule: {"f": {**(one.attempts[0].names if one.attempts else {}), **one.names}} for one in reversed(tried)
    }
    return {"document": document((report,)), "names": _asked(held)}


class _Forked:
    """A forked child with what the replay asks of a `Popen`."""

    def __init__(self, pid: int):
        self.pid = pid

    def wait(self, seconds: float = 0.0) -> None:
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):  # it has ended already
            pass

    kill = wait


def _twin() -> None:
    """Let the replay's clean process be a fork of this one, made before the example runs: it has torch loaded."""
    from explainer.replay import program, zygote

    mine, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        mine.close()
        os.environ["EXPLAINER"] = "0"
        sys.argv = [sys.argv[0], str(theirs.detach()), ""]
        try:
            zygote.main()
        finally:
            os._exit(0)
    theirs.close()
    program._started = lambda modules: (_Forked(pid), mine)  # type: ignore[assignment,return-value]


def _explained(error: Exception, request: dict[str, Any], path: str, seconds: float) -> dict[str, Any]:
    """The document on an error, how many seconds it took, and what became of the candidates where that is asked for."""
    from explainer.api import explain_error
    from explainer.decisions import Trace
    from explainer.probes import Options

    program = None
    if request.get("program") in ("clean", "warm"):
        from explainer.replay.program import Program

        program = Program(path, None, (), os.getcwd(), seconds, warm=request["program"] == "warm")
    if request.get("survey"):
        from explainer.authoring.survey import surveyed

        return {"survivors": surveyed(error, Options(language="en", program=program))}
    trace = Trace() if request.get("trace") or request.get("names") else None
    options = Options(language="en", program=program, excerpt=bool(request.get("program")), trace=trace)
    began = time.monotonic()
    found = explain_error(error, options=options, packs=tuple(Path(pack) for pack in request.get("packs", ())))
    taken = {"document": found.to_dict(), "seconds": time.monotonic() - began}
    if trace is None:
        return taken
    return {**taken, **({"names": _asked(trace.held)} if request.get("names") else {"trace": trace.to_dict()})}


def _asked(held: dict[str, Any]) -> dict[str, Any]:
    """What the words of each rule that held ask of its facts."""
    from explainer.authoring.seen import asked
    from explainer.catalogue import load

    return {name: asked(load().rules[name], names) for name, names in held.items() if name in load().rules}


if __name__ == "__main__":
    main()
