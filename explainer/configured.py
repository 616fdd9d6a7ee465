"""`[tool.explainer]` of the nearest pyproject.toml: what a project has settled, read when something is explained."""

from __future__ import annotations

import stat
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from explainer.frozen import frozen
from explainer.locale import LANGUAGES

#: The keys and what each must be; paths are relative to the file.
KINDS: Mapping[str, type] = {"lang": str, "replay": bool, "full": bool, "rules": list, "source": list}
_LARGEST = 1 << 20


@frozen
class Configured:
    """What a project has settled; `problem` says in one line what is wrong with it, and then nothing of it counts."""

    lang: str | None = None
    replay: bool = True
    full: bool = False
    rules: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    problem: str = ""


def configured(folder: str | Path = ".") -> Configured:
    """The settings for a folder: those of the first pyproject.toml on the way up that has the table."""
    here = Path(folder).resolve()
    return next((one for one in map(_of, (here, *here.parents)) if one is not None), Configured())


def _of(folder: Path) -> Configured | None:
    path = folder / "pyproject.toml"
    try:
        state = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return Configured(problem=f"{path} cannot be read: {error}")
    return _read(path, state.st_mtime_ns, state.st_size) if stat.S_ISREG(state.st_mode) else None


@lru_cache(maxsize=8)
def _read(path: Path, _: int, size: int) -> Configured | None:
    """The table of a file of this time and size: it is asked for several times a crash."""
    try:
        if sys.version_info < (3, 11) or size > _LARGEST:
            return None
        text = path.read_text(encoding="utf-8")
        if "tool.explainer" not in text:
            return None
        import tomllib

        table = tomllib.loads(text).get("tool", {}).get("explainer")
    except (OSError, ValueError) as error:
        return Configured(problem=f"{path} cannot be read: {error}".split("\n")[0])
    return None if table is None else _checked(table, path)


def _checked(table: Any, path: Path) -> Configured:
    """The table as settings; the first thing that is wrong is named."""
    where = f"{path}: [tool.explainer]"
    if not isinstance(table, dict):
        return Configured(problem=f"{where} is no table")
    for name, value in table.items():
        if name not in KINDS:
            return Configured(problem=f"{where} has no key {name!r} (there are: {', '.join(KINDS)})")
        strings = isinstance(value, list) and all(isinstance(one, str) for one in value)
        if type(value) is not KINDS[name] or (KINDS[name] is list and not strings):
            return Configured(problem=f"{where}: {name} must be {_said(KINDS[name])}")
    if table.get("lang", "en") not in LANGUAGES:
        return Configured(problem=f"{where}: lang must be one of {', '.join(LANGUAGES)}")
    rules, source = (tuple(str(path.parent / one) for one in table.get(name, ())) for name in ("rules", "source"))
    return Configured(table.get("lang"), table.get("replay", True), table.get("full", False), rules, source)


def _said(kind: type) -> str:
    return {str: "a string", bool: "true or false", list: "a list of strings"}[kind]
