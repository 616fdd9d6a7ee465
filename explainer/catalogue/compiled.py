"""The compiled catalogue: one file of JSON lines, the index first, which tells where each pattern and text lies."""

from __future__ import annotations

import itertools
import json
import os
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from explainer.catalogue import sources
from explainer.catalogue.match import Rows, Words
from explainer.catalogue.problem import Problem
from explainer.frozen import frozen

#: Raise it whenever what is written changes: older files are then written anew.
FORMAT = 10


@frozen
class Pack:
    """One folder of rules: patterns, each file's value by id as JSON, and what is wrong with those left out.

    `told` are the rules that a message alone can make hold.
    """

    table: Words
    symptoms: Mapping[str, bytes]
    rules: Mapping[str, bytes]
    under: Mapping[str, Sequence[str]]
    problems: tuple[Problem, ...] = ()
    told: Sequence[str] = ()


@frozen
class Lines(Sequence[bytes]):
    """Lines of a compiled file, each cut out when it is asked for; line n lies between two of the `bounds`."""

    data: Any
    bounds: Sequence[int]

    def __getitem__(self, number: Any) -> Any:
        return self.data[self.bounds[number] : self.bounds[number + 1]]

    def __len__(self) -> int:
        return len(self.bounds) - 1


@frozen
class Texts(Mapping[str, bytes]):
    """Lines by the ids that they stand for."""

    lines: Lines
    numbers: Mapping[str, int]

    def __getitem__(self, name: str) -> bytes:
        return self.lines[self.numbers[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self.numbers)

    def __len__(self) -> int:
        return len(self.numbers)


def dump(made: Pack, key: str = "") -> bytes:
    """The pack as one file: a line with the index, then a line a word of the table, a symptom and a rule."""
    words = list(made.table.words)
    rows = [json.dumps(made.table.rows[word], ensure_ascii=False).encode() for word in words]
    lines = [line + b"\n" for line in (*rows, *made.symptoms.values(), *made.rules.values())]
    index = {
        "format": FORMAT, "key": key, "lengths": list(map(len, lines)), "words": words,
        "symptoms": list(made.symptoms), "rules": list(made.rules), "under": made.under,
        "problems": [astuple(one) for one in made.problems], "told": made.told,
    }  # fmt: skip
    return b"".join([json.dumps(index, ensure_ascii=False).encode(), b"\n", *lines])


def parse(data: Any, key: str | None = None) -> Pack | None:
    """The pack of a compiled file; None where it is of another format, or was made of other files than `key` says."""
    end = data.find(b"\n") + 1
    try:
        index = json.loads(data[:end])
        if index["format"] != FORMAT or (key is not None and index["key"] != key):
            return None
        lines = Lines(data, list(itertools.accumulate(index["lengths"], initial=end)))
        if lines.bounds[-1] != len(data):
            return None
        numbers = iter(range(len(lines)))
        rows, symptoms, rules = (
            Texts(lines, dict(zip(index[names], numbers, strict=False))) for names in ("words", "symptoms", "rules")
        )
        wrong = tuple(Problem(*row) for row in index["problems"])
        table = Words(rows.numbers.keys(), Rows(rows))
        return Pack(table, symptoms, rules, index["under"], wrong, index["told"])
    except (ValueError, KeyError, TypeError):
        return None


def cached(folder: Path) -> Pack:
    """A folder's pack, from the wheel's compiled file or the user's cache where those are as new as the files."""
    shipped = folder / sources.COMPILED
    if shipped.is_file() and (made := parse(_mapped(shipped))) is not None:
        return made
    key = _key(folder)
    place = cache_folder() / f"{zlib.crc32(str(folder).encode()):08x}.jsonl"
    try:
        if (made := parse(_mapped(place), key)) is not None:
            return made
    except OSError:
        pass
    from explainer.catalogue.packing import pack

    made = pack(folder)
    _keep(place, dump(made, key))
    return made


def _mapped(path: Path) -> Any:
    """A file's bytes, of which only those that are looked at are read; Windows could not replace such a file."""
    if sys.platform == "win32":
        return path.read_bytes()
    import mmap

    with path.open("rb") as file:
        try:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:  # an empty file
            return b""


def _key(folder: Path) -> str:
    """What changes whenever a file of a folder does: names, times and sizes."""
    folders = sources.folders(folder)
    found: list[str] = []
    for path in folders:
        with os.scandir(path) as entries:
            stated = [(entry.name, entry.stat()) for entry in entries if entry.name.endswith((".yaml", ".yml"))]
        found += sorted(f"{name}:{status.st_mtime_ns}:{status.st_size}" for name, status in stated)
    return f"{len(folders)}:{len(found)}:{zlib.crc32(' '.join(found).encode()):08x}"


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
