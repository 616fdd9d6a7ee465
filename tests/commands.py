"""Helpers of the tests: run a command in a clean environment and hand back what it printed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def environment(**more: str) -> dict[str, str]:
    """This process's environment without what would change how the project speaks; `more` is added."""
    mine = ("EXPLAINER", "EXPLAINER_REPLAY", "EXPLAINER_LANG", "NO_COLOR", "FORCE_COLOR", "LC_ALL", "LC_MESSAGES")
    kept = {name: value for name, value in os.environ.items() if name not in mine}
    return {**kept, "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT), **more}


def run(*command: str, cwd: Path, stdin: str | bytes = b"", seconds: float = 90, **more: str):
    """Run a command; `stdout` and `stderr` are decoded, `returncode` is as `subprocess` has it."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    env = environment(XDG_STATE_HOME=str(cwd / ".state"), **more)
    done = subprocess.run(list(command), cwd=cwd, input=data, capture_output=True, timeout=seconds, env=env)
    done.stdout, done.stderr = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    return done


def python(*arguments: str, cwd: Path, **more):
    """Run this interpreter."""
    return run(sys.executable, *arguments, cwd=cwd, **more)


def explain(*arguments: str, cwd: Path, **more):
    """Run the command `explain` of this checkout."""
    return run(sys.executable, "-m", "explainer", *arguments, cwd=cwd, **more)
