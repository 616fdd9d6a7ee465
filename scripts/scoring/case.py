"""A program that crashes and what is known of it: a folder with `case.yaml` beside the program."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

SCRIPT = "main.py"
FACTS = "case.yaml"
_ANSWERS = ("*.patch", FACTS)


@dataclass(frozen=True)
class Case:
    """One folder. `facts` has `family`, `culprits` (a `file` and `line` each), how the repaired program's last line
    reads (`expected_stdout_last`, or `expected_stdout_regex`); `symbols`, `kind`, `half`, `parameters` (the shapes
    of the healthy model's, by name) and `reshaped` (whether the broken one's differ) where they are known.
    """

    path: Path
    facts: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.path.name

    @cached_property
    def files(self) -> dict[str, str]:
        """The program's files and their texts, without the answers."""
        every = (file for file in sorted(self.path.rglob("*")) if file.is_file() and "__pycache__" not in file.parts)
        texts = (file for file in every if not any(file.match(answer) for answer in _ANSWERS))
        return {str(file.relative_to(self.path)): file.read_text(encoding="utf-8") for file in texts}

    @property
    def culprits(self) -> set[tuple[str, int]]:
        """The lines at which a right edit can be made."""
        return {(Path(one["file"]).name, one["line"]) for one in self.facts["culprits"]}

    def reached(self, printed: str) -> bool:
        """Whether what a program printed ends with the line of the repaired one."""
        last = next(reversed(printed.strip().splitlines()), "").strip()
        if self.facts.get("expected_stdout_regex"):
            return re.fullmatch(self.facts["expected_stdout_regex"], last) is not None
        return last == str(self.facts["expected_stdout_last"]).strip()


def cases(folder: Path, only: str = "") -> Iterator[Case]:
    """The cases below a folder whose names contain `only`, by name."""
    for path in sorted(folder.rglob(FACTS)):
        if only in path.parent.name:
            yield Case(path.parent, yaml.safe_load(path.read_text(encoding="utf-8")))


def edited(files: Mapping[str, str], edits: list[Mapping[str, Any]]) -> dict[str, str]:
    """The files with a fix's edits, which are in lines of the untouched ones.

    KeyError for a file that is not there, ValueError where one reads otherwise than the edit says.
    """
    texts = dict(files)
    for edit in sorted(edits, key=lambda one: (one["start_line"], one["end_line"]), reverse=True):
        lines = texts[edit["file"]].splitlines()
        first, last, before, after = edit["start_line"] - 1, edit["end_line"], edit["before"], edit["after"]
        if before is not None and "\n".join(lines[first:last]) != before.rstrip("\n"):
            raise ValueError(f"{edit['file']}:{first + 1} reads otherwise")
        lines[first:last] = [] if after is None else after.split("\n")
        texts[edit["file"]] = "\n".join(lines) + "\n"
    return texts
