"""Where rule files lie: the catalogue's own folder, folders that the user names, and packs that are installed."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

GROUP = "explainer.rules"
PACKAGE = Path(__file__).resolve().parent.parent
_DEEPEST = 4
COMPILED = "catalogue.jsonl"


def builtin() -> Path:
    """The catalogue's own rules: in a checkout `../rules` (a wheel's copy there would be stale), else those shipped."""
    checkout = PACKAGE.parent
    if (checkout / "pyproject.toml").is_file() and (checkout / "rules" / "symptoms").is_dir():
        return checkout / "rules"
    return PACKAGE / "_rules"


def files(folder: Path) -> list[Path]:
    """The YAML files of a pack, sorted; hidden ones are left out."""
    found = (path for place in folders(folder) for path in Path(place).glob("*.y*ml"))
    return sorted(path for path in found if path.suffix in (".yaml", ".yml") and not path.name.startswith("."))


def folders(folder: str | Path, deep: int = 0) -> list[str]:
    """Where a pack's files lie: its folder, the folders in it, and those of the packs in its folder `packs`.

    Packs in packs are gone into four levels deep: links may make it a circle.
    """
    found = [str(folder), *_below(folder)]
    packs = os.path.join(folder, "packs")
    if packs in found and deep < _DEEPEST:
        found += [place for pack in _below(packs) for place in folders(pack, deep + 1)]
    return found


def _below(folder: str | Path) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(entry.path for entry in entries if entry.is_dir() and not entry.name.startswith("."))


def installed() -> Iterator[tuple[str, Path]]:
    """Packs of installed packages: entry points of the group name a data folder; nothing of theirs is imported.

    Reads `entry_points.txt` itself: importlib.metadata costs 40 ms, and a crash is no time to wait for it.
    """
    for name, value in sorted(_points()):
        folder = _folder_of(value)
        if folder is not None:
            yield name, folder


def _points() -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    for place in sys.path:
        try:
            entries = [one.path for one in os.scandir(place or ".") if one.name.endswith((".dist-info", ".egg-info"))]
        except OSError:
            continue
        for folder in entries:
            try:
                with open(f"{folder}/entry_points.txt", "rb", 0) as file:  # a `Path` and a buffer take twice the time
                    data = file.read()
            except OSError:
                continue
            if GROUP.encode() in data:
                found.update(_of_group(data.decode("utf-8", "replace")))
    return found


def _of_group(text: str) -> Iterator[tuple[str, str]]:
    section = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            section = line.strip("[] ")
        elif section == GROUP and "=" in line:
            name, value = line.split("=", 1)
            yield name.strip(), value.strip()


def _folder_of(value: str) -> Path | None:
    """`my_pack.rules` or `my_pack:rules` -> the folder `rules` of the package `my_pack`, found without importing it."""
    from importlib.util import find_spec

    top, *below = re.split("[.:/]", value)
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return None
    folders = [Path(place).joinpath(*below) for place in (spec.submodule_search_locations or ())] if spec else []
    return next((folder for folder in folders if folder.is_dir()), None)
