"""`explain doctor`: what the tool can do on this machine, and what stands in its way here."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from importlib import util
from importlib.metadata import PackageNotFoundError, version

from explainer.cli import options

OK, NOTE, BAD = "ok", "note", "bad"
#: One line of the report: how it stands, and what of.
Finding = tuple[str, str]


def main(arguments: list[str]) -> int:
    """Print a line for each thing looked at; the exit status is 1 where something stands in the way."""
    options.parser("explain doctor", "Says what works on this machine, and what stands in the way.").parse_args(
        arguments
    )
    found = list(findings())
    sys.stdout.write("".join(f"{mark:5} {text}\n" for mark, text in found))
    return 1 if any(mark == BAD for mark, _ in found) else 0


def findings() -> Iterator[Finding]:
    """What is looked at, in the order in which a person would ask."""
    yield _python()
    yield _torch()
    yield from _switches()
    yield _catalogue()
    yield from _replay()
    yield from _hooks()
    yield _state()


def _python() -> Finding:
    text = f"Python {platform.python_version()} ({sys.executable})"
    if getattr(sys.flags, "no_debug_ranges", 0) or os.environ.get("PYTHONNODEBUGRANGES"):
        return NOTE, f"{text}: without columns (PYTHONNODEBUGRANGES), the failing part of a line is not marked"
    return OK, text


def _torch() -> Finding:
    """The torch of this environment, by its metadata: importing it takes a second."""
    if util.find_spec("torch") is None:
        return NOTE, "no torch in this environment: texts are explained, nothing can be run again"
    try:
        number = version("torch")
    except PackageNotFoundError:
        return NOTE, "a torch without metadata"
    old = tuple(int(part) for part in number.split("+")[0].split(".")[:2] if part.isdigit()) < (2, 1)
    return (BAD, f"torch {number} is older than 2.1: nothing is run again") if old else (OK, f"torch {number}")


def _switches() -> Iterator[Finding]:
    if os.environ.get("EXPLAINER") == "0":
        yield BAD, "EXPLAINER=0: install() does nothing"
    if os.environ.get("EXPLAINER_REPLAY") == "0":
        yield BAD, "EXPLAINER_REPLAY=0: nothing is run again, no fix is checked"


def _catalogue() -> Finding:
    from explainer.catalogue import load

    catalogue = load()
    if catalogue.problems:
        return BAD, f"rules: {catalogue.problems[0]}"
    return OK, f"{len(catalogue.symptoms)} symptoms, {len(catalogue.rules)} rules"


def _replay() -> Iterator[Finding]:
    """Whether user code can be run again, by whom: in forks of the crashed process, whole in a copy of its files."""
    from explainer.replay.confine import landlock, sandbox, seccomp

    why = sandbox.unavailable()
    yield (OK, "statements can be run again in sandboxed forks") if why is None else (BAD, f"no replay: {why}")
    if sys.platform.startswith("linux"):
        kernel, number = platform.release(), landlock.abi()
        if number and seccomp.available():
            yield OK, f"whole programs can be run again in a copy of their files (Landlock {number}, Linux {kernel})"
        else:
            yield BAD, f"whole programs are not run again: this kernel has no Landlock (Linux {kernel}; it needs 5.13)"


def _hooks() -> Iterator[Finding]:
    """What a site or a launcher put in the place of Python's own hooks, before any program runs."""
    if sys.excepthook is not sys.__excepthook__:
        yield NOTE, f"sys.excepthook is {_named(sys.excepthook)}; install() keeps it, and explains after it"
    if util.find_spec("loguru") is not None:
        line = 'logger.add(explainer.hooks.logs.loguru, level="ERROR")'
        yield NOTE, f"loguru is here: what its @catch keeps from install() is explained after `{line}`"
    if os.environ.get("TORCHELASTIC_RUN_ID") or os.environ.get("RANK"):
        yield NOTE, "this is a rank of a job (RANK is set): the first to fail explains its error, the others say a line"


def _named(hook: object) -> str:
    return f"{getattr(hook, '__module__', '?')}.{getattr(hook, '__qualname__', type(hook).__name__)}"


def _state() -> Finding:
    from explainer.hooks import last

    folder = last.folder()
    existing = next(one for one in (folder, *folder.parents) if one.exists())
    if os.access(existing, os.W_OK):
        return OK, f"the last diagnosis is kept in {folder}, for `explain fix`"
    return NOTE, f"{folder} cannot be written: `explain fix` has nothing to show"
