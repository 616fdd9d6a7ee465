"""The compiled catalogue: one file of JSON lines, the index first, so that loading reads texts only when asked."""

from __future__ import annotations

import json
import os
import sys
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from pathlib import Path

from explainer.catalogue import sources
from explainer.catalogue.match import Rows, Words
from explainer.catalogue.problem import Problem
from explainer.frozen import frozen

#: Raise it whenever what is written changes: older files are then written anew.
FORMAT = 4


@frozen
class Pack:
    """One folder of rules: patterns, each file's value by id as JSON, and what is wrong with those left out."""

    table: Words
    symptoms: dict[str, bytes]
    rules: dict[str, bytes]
    under: Mapping[str, Sequence[str]]
    problems: tuple[Problem, ...] = ()


def dump(made: Pack, key: str = "") -> bytes:
    """The pack as one file: a line with the index, then a line a pattern, a symptom and a rule."""
    table = made.table
    index = {
        "format": FORMAT, "key": key, "symptoms": list(made.symptoms), "rules": list(made.rules), "under": made.under,
        "by_word": table.by_word, "wordless": table.wordless, "problems": [astuple(one) for one in made.problems],
    }  # fmt: skip
    lines = [json.dumps(one, ensure_ascii=False).encode() for one in (index, *table.entries)]
    return b"\n".join([*lines, *made.symptoms.values(), *made.rules.values()])


def parse(data: bytes, key: str | None = None) -> Pack | None:
    """The pack of a compiled file; None where it is of another format, or was made of other files than `key` says."""
    first, *lines = data.split(b"\n")
    try:
        index = json.loads(first)
        if index["format"] != FORMAT or (key is not None and index["key"] != key):
            return None
        symptoms, rules = index["symptoms"], index["rules"]
        patterns = len(lines) - len(symptoms) - len(rules)
        table = Words(Rows(lines[:patterns]), index["by_word"], index["wordless"])
        wrong = tuple(Problem(*row) for row in index["problems"])
        texts = dict(zip((*symptoms, *rules), lines[patterns:], strict=True))
        said, causes = ({name: texts[name] for name in names} for names in (symptoms, rules))
        return Pack(table, said, causes, index["under"], wrong)
    except (ValueError, KeyError, TypeError):
        return None


def cached(folder: Path) -> Pack:
    """A folder's pack, from the wheel's compiled file or the user's cache where those are as new as the files."""
    shipped = folder / sources.COMPILED
    if shipped.is_file() and (made := parse(shipped.read_bytes())) is not None:
        return made
    key = _key(folder)
    place = cache_folder() / f"{zlib.crc32(str(folder).encode()):08x}.jsonl"
    try:
        if (made := parse(place.read_bytes(), key)) is not None:
            return made
    except OSError:
        pass
    from explainer.catalogue.packing import pack

    made = pack(folder)
    _keep(place, dump(made, key))
    return made


def _key(folder: Path) -> str:
    """What changes whenever a file of a folder does: names, times and sizes."""
    found = []
    for path, _, _ in os.walk(folder):
        with os.scandir(path) as entries:
            stated = [(entry.name, entry.stat()) for entry in entries if entry.name.endswith((".yaml", ".yml"))]
        found += [f"{path}/{name}:{status.st_mtime_ns}:{status.st_size}" for name, status in stated]
    return " ".join(sorted(found))


def cache_folder() -> Path:
    """The user's cache folder for compiled catalogues."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "torch-explainer"
    default = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return Path(os.environ.get("XDG_CACHE_HOME") or default) / "torch-explainer"


def _keep(place: Path, data: bytes) -> None:
    """Write a cache file whole or not at all; a cache that cannot be written is no error."""
    import tempfile

    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=place.parent, suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(name, place)
    except OSError:
        pass
