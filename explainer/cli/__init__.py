"""The command `explain`: finds out which command is meant, and turns whatever goes wrong in it into one line."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence

#: Commands and what each does; a module `explainer.cli.<name>` with `main(arguments) -> exit status` for each.
COMMANDS = {
    "run": "run a program and explain the error that ends it",
    "watch": "run a program and tell what goes wrong in its training without an error",
    "repro": "print a minimal script that raises the same error",
    "fix": "show the last fix as a patch, or apply it",
    "rules": "list the rules, start a new one, check a folder of them",
    "rule": "the page of one rule",
    "demo": "break small models on purpose and explain each",
    "serve": "a page on this machine into which tracebacks are pasted",
    "mcp": "the same for assistants, over stdio (Model Context Protocol)",
    "doctor": "what works on this machine, and what stands in the way",
    "completion": "a script that lets bash, zsh or fish complete these words",
}
#: Options that may stand before a command and take a value.
VALUED = ("--format", "--output", "--lang", "--rules", "--source", "--color")


class Complaint(Exception):
    """Wrong usage or unreadable input, in one line; `status` is the exit status."""

    def __init__(self, text: str, status: int = 2):
        super().__init__(text)
        self.status = status


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status: 0 a diagnosis, 1 none, 2 wrong usage or unreadable input."""
    name, rest = command_of(list(sys.argv[1:] if arguments is None else arguments))
    done = _guarded(lambda: importlib.import_module(f"explainer.cli.{name}").main(rest))
    # `explain run` hands back the program to run: its errors are the user's, and leave as they are.
    return done() if callable(done) else done


def command_of(given: list[str]) -> tuple[str, list[str]]:
    """The command's name and its arguments; `files` where the first word is no command."""
    skip = False
    for index, word in enumerate(given):
        if skip or (word.startswith("-") and word != "-"):
            skip = not skip and word in VALUED
        else:
            return (word, given[:index] + given[index + 1 :]) if word in COMMANDS else ("files", given)
    return "files", given


def _guarded(work: Callable[[], int | Callable[[], int]]) -> int | Callable[[], int]:
    try:
        status = work()
        sys.stdout.flush()
        return status
    except Complaint as complaint:
        return complain(str(complaint), complaint.status)
    except KeyboardInterrupt:
        return complain("interrupted", 130)
    except BrokenPipeError:
        return _reader_left()
    except Exception as error:
        if os.environ.get("EXPLAINER_DEBUG"):
            raise
        return complain(f"{_said(error)} (EXPLAINER_DEBUG=1 shows where)")


def complain(text: str, status: int = 2) -> int:
    """Say one thing on standard error, control characters made visible; returns the exit status."""
    from explainer.render.visible import visible

    print(f"explain: {visible(text)}", file=sys.stderr)
    return status


def _said(error: Exception) -> str:
    """An error in its own words where it is made for people (a rule file's problems), else with its type."""
    return str(error) if hasattr(error, "problems") else f"{type(error).__name__}: {error}"


def _reader_left() -> int:
    """`explain ... | head`: the reader went away; nothing more is written, also not at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
