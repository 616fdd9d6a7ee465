"""Edits as a unified diff that `git apply` takes, line ends as the file has them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any


class PatchError(ValueError):
    """A file that cannot be read, or no longer reads as it did where an edit is to be made; in one line."""


def patch(folder: Path, edits: Iterable[Mapping[str, Any]]) -> str:
    """The diff of edits (as the JSON document has them) below a folder; `PatchError` where one does not fit."""
    return "".join(diff(name, *texts) for name, texts in changed(folder, edits).items())


def changed(folder: Path, edits: Iterable[Mapping[str, Any]]) -> dict[str, tuple[str, str]]:
    """Each edited file's text before and after; `PatchError` where an edit does not fit."""
    files: dict[str, list[Mapping[str, Any]]] = {}
    for edit in edits:
        files.setdefault(edit["file"], []).append(edit)
    return {name: _edited(folder / name, own) for name, own in files.items()}


def diff(name: str, before: str, after: str) -> str:
    """The unified diff of one file; its lines keep their own ends (`git apply` compares bytes)."""
    shown = Path(name).as_posix()
    lines = difflib.unified_diff(_lines(before), _lines(after), f"a/{shown}", f"b/{shown}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    """The lines with their ends; a form feed or a lone carriage return ends none, as git sees it."""
    return [f"{line}\n" for line in text.split("\n")[:-1]] + [last for last in text.split("\n")[-1:] if last]


def _edited(path: Path, edits: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PatchError(f"{path} cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}") from None
    lines = _lines(text)
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    placed = [(_start(lines, edit, path), edit) for edit in edits]
    if any(start != edit["start_line"] - 1 for start, edit in placed) and any(one["before"] is None for one in edits):
        raise PatchError(_moved(path, edits[0]))  # where an insertion belongs is not known any more
    for start, edit in sorted(placed, key=lambda one: -one[0]):
        after, count = edit["after"], edit["end_line"] - edit["start_line"] + 1
        lines[start : start + count] = (
            [] if after is None else [f"{line}{end}" for line in after.removesuffix("\n").split("\n")]
        )
    return text, "".join(lines)


def _start(lines: Sequence[str], edit: Mapping[str, Any], path: Path) -> int:
    """The index of the first line that an edit replaces: where it was, or the only place to which its lines moved."""
    start, before = edit["start_line"] - 1, edit["before"]
    if before is None:
        return start
    wanted = before.rstrip("\n").split("\n")
    fitting = [
        at for at in range(len(lines)) if [line.rstrip("\r\n") for line in lines[at : at + len(wanted)]] == wanted
    ]
    if start in fitting:
        return start
    if len(fitting) == 1:
        return fitting[0]
    raise PatchError(_moved(path, edit))


def _moved(path: Path, edit: Mapping[str, Any]) -> str:
    return f"{path}:{edit['start_line']} has changed since the diagnosis; explain the error again"
