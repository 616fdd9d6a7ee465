"""Keeps the last diagnosis, in a file that only its user can read, for `explain fix`."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any


def folder() -> Path:
    """The per-user folder for it: XDG_STATE_HOME, its default, or LOCALAPPDATA on Windows.

    Raises RuntimeError where the user has no home directory.
    """
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "explainer"
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "explainer"


def private(*below: str) -> Path:
    """The folder, or one below it, made where it is missing, with nothing in it for other users to read.

    Raises OSError where it cannot be made, RuntimeError where the user has no home directory.
    """
    where = folder()
    where.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in below:
        where /= name
        where.mkdir(mode=0o700, exist_ok=True)
    return where


def keep(explanation: Any) -> None:
    """Write the last explanation that has a diagnosis. A folder that cannot be written is no error."""
    if not explanation:
        return
    text = json.dumps({"folder": os.getcwd(), "document": explanation.to_dict()})
    try:
        where = private()
        number, name = tempfile.mkstemp(dir=where, prefix="last-")  # made with mode 0600
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(name, where / "last.json")
    except (OSError, RuntimeError):
        pass


def kept() -> tuple[Path, dict[str, Any]] | None:
    """The folder in which the last diagnosis was made, and its document; None where there is none."""
    try:
        content = json.loads((folder() / "last.json").read_text(encoding="utf-8"))
        return Path(content["folder"]), content["document"]
    except (OSError, RuntimeError, ValueError, KeyError, TypeError):
        return None
